//! What is typed, what it is by default, and that it reads back from records as it was.

use clap::{Args, Command, FromArgMatches};

use super::*;
use crate::{Arm, Bytes, Namespaces};

fn parse<T: Args + FromArgMatches>(words: &str) -> Result<T, clap::Error> {
    let words = shlex::split(words).expect("words as a shell takes them");
    let command = T::augment_args(Command::new("options").no_binary_name(true));
    T::from_arg_matches(&command.try_get_matches_from(words)?)
}

fn arm(words: &str) -> Arm {
    parse(words).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn wrong_values_are_refused_with_what_is_right() {
    for (words, says) in [
        ("--buffer 0", "1 byte to 64 MiB"),
        ("--workers 0", "1..=256"),
        ("--log-mode buffered", "writer, inline"),
        ("--accept herds", "herd, exclusive"),
        ("--buffering yes", "default, on, off"),
        ("--spool-max lots", "is not a size"),
        ("--fetch-header 'no colon'", "is not a header"),
        ("--fetch-body f", "--fetch-path"),
    ] {
        let error = parse::<Arm>(words).expect_err(words).to_string();
        assert!(error.contains(says), "{error}");
    }
}

/// A way to share needs something to share, and only who buffers spools.
#[test]
fn toggles_that_do_not_fit_each_other_are_refused() {
    let herd = Some(ToggleError::NothingShared(AcceptMode::Herd));
    let spool = Some(ToggleError::NothingSpooled);
    for (words, refused) in [
        ("--accept herd", None),
        ("--reuseport --accept exclusive", None),
        ("--reuseport --accept herd", herd),
        ("--spool default", None),
        ("--buffering off --spool off", None),
        ("--buffering on --spool /spool", None),
        ("--buffering on --spool-max 1", None),
        ("--buffering off --spool /spool", spool),
        ("--buffering off --spool-max 1", spool),
        ("--spool /spool", spool),
        ("--spool-max 1", spool),
    ] {
        assert_eq!(arm(words).proxy.check().err(), refused, "{words}");
    }
}

#[test]
fn a_host_that_gives_less_leaves_the_default_to_the_kernel() {
    let (small, large) = (Some(Bytes(212_992)), Some(Rcvbuf::ROOMY));
    // The kernel caps what was asked for, and the manifest tells.
    let asked = Rcvbuf::Size(Bytes::mib(4));
    for (buffer, most, within) in [
        (Rcvbuf::Default, small, Rcvbuf::Auto),
        (Rcvbuf::Default, large, Rcvbuf::Default),
        (Rcvbuf::Default, None, Rcvbuf::Default),
        (asked, small, asked),
    ] {
        assert_eq!(buffer.within(most), within, "{buffer} {most:?}");
    }
}

#[test]
fn the_mirror_has_roomy_upstream_buffers_unless_told_otherwise() {
    for (words, asked) in [
        ("", Some(Rcvbuf::ROOMY)),
        ("--rcvbuf 40960", Some(Bytes(40_960))),
        ("--rcvbuf auto", None),
        // Its own affair.
        ("--proxy nginx", None),
        ("--proxy nginx --rcvbuf 40960", Some(Bytes(40_960))),
    ] {
        assert_eq!(arm(words).on(None).rcvbuf(), asked, "{words}");
    }
    let sysctls = [("net.ipv4.tcp_rmem".to_owned(), "40960 40960 40960".to_owned())].into();
    let host = arm("").on(Some(Namespaces { sysctls }));
    assert_eq!(host.rcvbuf(), None, "what the host was set to must rule");
    assert_eq!(host.proxy.rcvbuf, Rcvbuf::Auto, "and the mirror is told so");
}

#[test]
fn in_records_an_arm_is_flat_and_says_what_was_asked_for() {
    let arm = arm("--reuseport --rcvbuf 40960 --delay 300ms --cap 2s").on(None);
    let json = serde_json::to_value(&arm).expect("an arm is JSON");
    let told = serde_json::json!({
        "reuseport": true, "rcvbuf": 40_960, "workers": 2, "read_policy": "drain", "slow": 4,
        "cap_us": 2_000_000, "delay_us": 300_000, "proxy": "mirror", "place": "spread",
    });
    for (key, value) in told.as_object().expect("an object") {
        assert_eq!(json.get(key), Some(value), "{key} in {json}");
    }
    let auto = serde_json::to_value(Rcvbuf::Auto).expect("JSON");
    assert!(auto.is_null(), "left to the kernel");
}

/// As builds before the groups wrote it, with the fields that the first of them had.
#[test]
fn arms_of_earlier_builds_are_read() {
    let then = serde_json::json!({
        "reuseport": true, "rcvbuf": 1_048_576, "sndbuf": null, "listen_rcvbuf": null,
        "listen_sndbuf": null, "workers": 3, "read_policy": "bytes:64KiB", "buffer": 4096,
        "backlog": 511, "multi_accept": false, "slow": 4, "slow_size": 2_147_483_648_u64,
        "read_rate": null, "place": "one-worker", "arrivals": "10/s",
        "fetch_size": 3_145_728, "cap_us": 1_000_000, "pin": "off", "think_us": 20_000,
    });
    let arm: Arm = serde_json::from_value(then).expect("an arm");
    let words = "--reuseport --rcvbuf 1MiB --workers 3 --read-policy bytes:64KiB --think 20ms \
                 --place one-worker --pin off";
    assert_eq!(arm, self::arm(words));
}

#[test]
fn an_arm_reads_back_as_itself() {
    for words in [
        "",
        "--reuseport --multi-accept --rcvbuf auto --workers 256",
        "--rcvbuf 40961 --read-policy time:1099511627us --log-mode inline",
        "--arrivals closed --buffering on --spool /spool --spool-max 7 --slow-size 1152921504606846976",
        "--arrivals closed:500 --keep-alive",
        "--arrivals 0.1/s --spool off --read-rate 1GB/s --origin-workers 3",
        "--congestion cubic --accept herd --place hash --pin 0-2 --delay 1ms --burst 3 --cap 1m",
    ] {
        let arm = arm(words);
        let json = serde_json::to_string(&arm).expect("an arm is JSON");
        assert_eq!(serde_json::from_str::<Arm>(&json).expect(&json), arm, "{words}");
    }
}

/// What a request of one's own is on the wire.
#[test]
fn a_request_of_ones_own_says_what_was_asked() {
    let host = "127.0.0.1:8000".parse().expect("an address");
    let ours = "Host: 127.0.0.1:8000\r\nAccept: */*\r\n";
    let [sized, coded] =
        ["Content-Length: 7", "accept-encoding: gzip"].map(|header| format!("{ours}{header}\r\n"));
    let headers = "--fetch-path 'HEAD /' --fetch-header host:a.b --fetch-header 'X-Y: 1 2'";
    for (words, line, headers, size) in [
        ("", "GET /bytes/3MiB", ours, Some(Bytes::mib(3))),
        ("--fetch-path /health", "GET /health", ours, None),
        (headers, "HEAD /", "Accept: */*\r\nhost: a.b\r\nX-Y: 1 2\r\n", None),
        // An answer that may be compressed is as long as it is.
        ("--fetch-header 'accept-encoding: gzip'", "GET /bytes/3MiB", &coded, None),
        ("--fetch-path /login --fetch-body f", "POST /login", &sized, None),
        ("--fetch-path 'PUT /x' --fetch-body f", "PUT /x", &sized, None),
    ] {
        let toggles = arm(words).fetch;
        let body = toggles.fetch_body.as_ref().map(|_| Bytes(7));
        let head = format!("{line} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
        assert_eq!(toggles.asking().head(host, body, Connection::Close), head);
        assert_eq!(toggles.asking().answer_size(), size, "{words}");
    }
}

#[test]
fn addresses_read_as_people_write_them() {
    assert_eq!(socket_addr("[::1]:80").map(|addr| (addr.is_ipv6(), addr.port())), Ok((true, 80)));
    for text in ["localhost:80", "127.0.0.1", "::1:80", "127.0.0.1:80000", ""] {
        let error = socket_addr(text).expect_err(text);
        assert!(error.contains("write it as 127.0.0.1:8000"), "{error}");
    }
}
