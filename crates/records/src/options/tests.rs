//! What is typed, what it is by default, and that it reads back from records as it was.

use std::ffi::OsStr;

use clap::{Args, Command, FromArgMatches};

use super::*;
use crate::{Arm, Bytes, CpuList, Namespaces};

fn parse<T: Args + FromArgMatches>(args: &[impl AsRef<OsStr>]) -> Result<T, clap::Error> {
    let command = T::augment_args(Command::new("options").no_binary_name(true));
    T::from_arg_matches(&command.try_get_matches_from(args.iter().map(AsRef::as_ref))?)
}

fn arm(words: &str) -> Arm {
    let words: Vec<&str> = words.split_whitespace().collect();
    parse(&words).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn wrong_values_are_refused_with_what_is_right() {
    for (flag, value, says) in [
        ("--rcvbuf", "lots", "is not a size"),
        ("--read-policy", "drains", "is not a read policy"),
        ("--buffer", "0", "1 byte to 64 MiB"),
        ("--workers", "0", "1..=256"),
        ("--log-mode", "buffered", "writer, inline"),
        ("--accept", "herds", "herd, exclusive"),
        ("--buffering", "yes", "default, on, off"),
        ("--spool-max", "lots", "is not a size"),
    ] {
        let error = parse::<ProxyToggles>(&[flag, value]).expect_err(flag).to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_way_to_share_needs_something_to_share() {
    for (reuseport, accept, fits) in [
        (false, AcceptMode::Herd, true),
        (true, AcceptMode::Exclusive, true),
        (true, AcceptMode::Herd, false),
    ] {
        let toggles = ProxyToggles { reuseport, accept, ..ProxyToggles::default() };
        let expected = if fits { Ok(()) } else { Err(ToggleError::NothingShared(accept)) };
        assert_eq!(toggles.check(), expected);
    }
}

#[test]
fn only_who_buffers_spools() {
    let dir = Spool::Dir("/spool".into());
    for buffering in [BufferingMode::Default, BufferingMode::On, BufferingMode::Off] {
        for (spool, spool_max, spools) in [
            (Spool::Default, None, false),
            (Spool::Off, None, false),
            (dir.clone(), None, true),
            (Spool::Default, Some(Bytes(1)), true),
        ] {
            let toggles = ProxyToggles { buffering, spool, spool_max, ..ProxyToggles::default() };
            let refused = spools && buffering != BufferingMode::On;
            let expected = if refused { Err(ToggleError::NothingSpooled) } else { Ok(()) };
            assert_eq!(toggles.check(), expected, "{toggles:?}");
        }
    }
}

#[test]
fn what_is_written_reads_back() {
    for (text, value) in [
        ("default", Rcvbuf::Default),
        ("auto", Rcvbuf::Auto),
        ("40KiB", Rcvbuf::Size(Bytes(40_960))),
        ("1MiB", Rcvbuf::Size(Rcvbuf::ROOMY)),
    ] {
        assert_eq!(text.parse(), Ok(value));
        assert_eq!(value.to_string(), text);
    }
    assert!("lots".parse::<Rcvbuf>().is_err());
}

#[test]
fn a_host_that_gives_less_leaves_the_default_to_the_kernel() {
    let (small, large) = (Some(Bytes(212_992)), Some(Rcvbuf::ROOMY));
    assert_eq!(Rcvbuf::Default.within(small), Rcvbuf::Auto);
    assert_eq!(Rcvbuf::Default.within(large), Rcvbuf::Default);
    assert_eq!(Rcvbuf::Default.within(None), Rcvbuf::Default);
    let asked = Rcvbuf::Size(Bytes::mib(4));
    assert_eq!(
        asked.within(small),
        asked,
        "the kernel caps what was asked for, and the manifest tells"
    );
}

#[test]
fn the_mirror_has_roomy_upstream_buffers_unless_told_otherwise() {
    let asked = |words: &str| arm(words).on(None).rcvbuf();
    assert_eq!(asked(""), Some(Rcvbuf::ROOMY));
    assert_eq!(asked("--rcvbuf 40960"), Some(Bytes(40_960)));
    assert_eq!(asked("--rcvbuf auto"), None);
    let nginx = |words: &str| {
        let mut arm = arm(words);
        arm.server.kind = ProxyKind::Server("nginx".to_owned());
        arm.on(None).rcvbuf()
    };
    assert_eq!(nginx(""), None, "its own affair");
    assert_eq!(nginx("--rcvbuf 40960"), Some(Bytes(40_960)));
    let sysctls = [("net.ipv4.tcp_rmem".to_owned(), "40960 40960 40960".to_owned())].into();
    let host = arm("").on(Some(Namespaces { sysctls }));
    assert_eq!(host.rcvbuf(), None, "what the host was set to must rule");
    assert_eq!(host.proxy.rcvbuf, Rcvbuf::Auto, "and the mirror is told so");
}

#[test]
fn in_records_an_arm_is_flat_and_says_what_was_asked_for() {
    let arm = arm("--reuseport --rcvbuf 40960 --delay 300ms --cap 2s").on(None);
    let json = serde_json::to_value(&arm).expect("an arm is JSON");
    for (key, value) in [
        ("reuseport", serde_json::json!(true)),
        ("rcvbuf", 40_960.into()),
        ("workers", 2.into()),
        ("read_policy", "drain".into()),
        ("slow", 4.into()),
        ("cap_us", 2_000_000.into()),
        ("delay_us", 300_000.into()),
        ("proxy", "mirror".into()),
        ("place", "spread".into()),
    ] {
        assert_eq!(json.get(key), Some(&value), "{key} in {json}");
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
    let fetch = |words: &[&str]| {
        let toggles: FetchToggles = parse(words).unwrap_or_else(|error| panic!("{error}"));
        let body = toggles.fetch_body.as_ref().map(|_| Bytes(7));
        let asking = toggles.asking();
        (asking.head(host, body, Connection::Close), asking.answer_size())
    };
    let own = "Host: 127.0.0.1:8000\r\nAccept: */*\r\n";
    let usual = (
        format!("GET /bytes/3MiB HTTP/1.1\r\n{own}Connection: close\r\n\r\n"),
        Some(Bytes::mib(3)),
    );
    assert_eq!(fetch(&[]), usual);
    let health = (format!("GET /health HTTP/1.1\r\n{own}Connection: close\r\n\r\n"), None);
    assert_eq!(fetch(&["--fetch-path", "/health"]), health);
    let headers =
        ["--fetch-path", "HEAD /", "--fetch-header", "host:a.b", "--fetch-header", "X-Y: 1 2"];
    let head =
        "HEAD / HTTP/1.1\r\nAccept: */*\r\nhost: a.b\r\nX-Y: 1 2\r\nConnection: close\r\n\r\n";
    assert_eq!(fetch(&headers).0, head);
    let (coded, size) = fetch(&["--fetch-header", "accept-encoding: gzip"]);
    assert!(coded.contains("\r\naccept-encoding: gzip\r\n"), "{coded}");
    assert_eq!(size, None, "an answer that may be compressed is as long as it is");
    let (post, _) = fetch(&["--fetch-path", "/login", "--fetch-body", "f"]);
    assert!(
        post.starts_with("POST /login ") && post.contains("\r\nContent-Length: 7\r\n"),
        "{post}"
    );
    let (put, _) = fetch(&["--fetch-path", "PUT /x", "--fetch-body", "f"]);
    assert!(put.starts_with("PUT /x HTTP/1.1\r\n"), "{put}");

    for (flag, value, says) in [
        ("--fetch-path", "health", "is not a path"),
        ("--fetch-path", "get /x", "is not a path"),
        ("--fetch-path", "/a b", "is not a path"),
        ("--fetch-path", "/a\r\nX: y", "is not a path"),
        ("--fetch-header", "no colon", "is not a header"),
        ("--fetch-header", "Content-Length: 3", "is not a header"),
        ("--fetch-header", "A: b\r\nC: d", "is not a header"),
        ("--fetch-body", "f", "--fetch-path"),
    ] {
        let error = parse::<FetchToggles>(&[flag, value]).expect_err(flag).to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn cpus_and_addresses_read_as_people_write_them() {
    let list: CpuList = "0,2-4".parse().expect("a list");
    assert_eq!((list.as_slice(), list.in_turn(5)), ([0, 2, 3, 4].as_slice(), 2));
    for text in ["", "a", "1-", "3-1", "99999"] {
        assert!(text.parse::<CpuList>().is_err(), "{text}");
    }
    assert_eq!(socket_addr("[::1]:80").map(|addr| (addr.is_ipv6(), addr.port())), Ok((true, 80)));
    for text in ["localhost:80", "127.0.0.1", "::1:80", "127.0.0.1:80000", ""] {
        let error = socket_addr(text).expect_err(text);
        assert!(error.contains("write it as 127.0.0.1:8000"), "{error}");
    }
}
