use proptest::prelude::*;

use super::*;
use crate::fixture::server;

fn read(text: &str) -> Option<Entry> {
    published(text)
}

const LINE: &str = r#"127.0.0.1 [21/Nov/2026:06:55:29 +0000] "GET /bytes/3MiB HTTP/1.1" status=200 body_bytes_sent=102195 rt=0.760 uct="0.330" uht="0.430" urt="0.755" pid=7 port=4000 conn=12 msec=1795244129.132 done="#;

#[test]
fn the_published_format_with_what_follows() {
    let entry = read(LINE).expect("a line");
    insta::assert_debug_snapshot!(entry);
    assert_eq!(read(&format!("{LINE}OK")).expect("a line").end, SessionEnd::Completed);
}

#[test]
fn a_499_has_no_times_of_an_upstream() {
    let line = r#"::1 [21/Nov/2026:06:55:29 +0000] "GET / HTTP/1.1" status=499 body_bytes_sent=0 rt=0.000 uct="-" uht="-" urt="0.000" pid=7 port=4000 conn=12 msec=1795244129.132 done="#;
    let entry = read(line).expect("a line");
    assert_eq!((entry.status, entry.end), (499, SessionEnd::ClientClosed));
    assert_eq!(entry.times.uct_ms, None);
    assert_eq!(entry.times.urt_ms, Some(0));
}

#[test]
fn of_several_upstreams_the_last_counts() {
    let line = LINE.replace("uct=\"0.330\"", "uct=\"0.100, 0.200\"").replace("0.430", "-, 0.3");
    let entry = read(&line).expect("a line");
    assert_eq!((entry.times.uct_ms, entry.times.uht_ms), (Some(200), Some(300)));
}

#[test]
fn without_msec_the_local_time_counts() {
    let (line, _) = LINE.split_once(" msec=").expect("it has one");
    let entry = read(line).expect("a line");
    assert_eq!(entry.times.at_unix_ms, 1_795_244_129_000);
    assert_eq!(entry.end, SessionEnd::ClientClosed, "by the size that was asked for");
}

#[test]
fn what_was_escaped_comes_back() {
    assert_eq!(unescape(r"GET /\x22\x5Cx \x"), "GET /\"\\x \\x");
    assert_eq!(unescape(r#"a\"b\\c"#), "a\"b\\c");
    assert_eq!(unescape(r"\xZZ\x4"), r"\xZZ\x4");
}

#[test]
fn seconds_become_milliseconds() {
    for (seconds, ms) in [(0.0, 0), (0.0004, 0), (0.0006, 1), (1.004, 1004), (-1.0, 0)] {
        assert_eq!(millis(seconds), ms, "{seconds}");
    }
    assert_eq!(millis(1_795_244_129.132), 1_795_244_129_132);
    assert_eq!(millis(f64::NAN), 0);
}

proptest! {
    #[test]
    fn no_line_is_too_much(text in ".*") {
        let _ = read(&text);
    }

    #[test]
    fn a_cut_line_is_none_or_says_no_more(cut in 0..LINE.len()) {
        if let Some(entry) = LINE.get(..cut).and_then(read) {
            prop_assert_eq!(entry.status, 200);
        }
    }
}

/// A line as each program writes it.
fn of(proxy: &str, text: &str) -> Option<Entry> {
    server(proxy).log.expect("a log").read(text, 1_795_244_131_900)
}

#[test]
fn lines_of_haproxy() {
    let whole = "client=127.0.0.1 port=36976 begin_s=1795244023 begin_ms=214 thread=1 status=200 out_bytes=119 \
                 head_bytes=98 connect_ms=2 response_ms=3 data_ms=4 took_ms=10 total_ms=11 end=-- request=GET /bytes/1 HTTP/1.1";
    let entry = of("haproxy", whole).expect("a line");
    insta::assert_debug_snapshot!(entry);

    let cut = whole.replace("end=--", "end=CD").replace("out_bytes=119", "out_bytes=4357195");
    let entry = of("haproxy", &cut).expect("a line");
    assert_eq!((entry.status, entry.end), (200, SessionEnd::ClientClosed));

    let given_up = whole
        .replace("status=200", "status=-1")
        .replace("response_ms=3 data_ms=4", "response_ms=-1 data_ms=-1")
        .replace("head_bytes=98", "head_bytes=")
        .replace("end=--", "end=CH");
    let entry = of("haproxy", &given_up).expect("a line");
    assert_eq!((entry.status, entry.body_bytes), (499, Bytes(0)));
    assert_eq!((entry.times.uct_ms, entry.times.uht_ms), (Some(2), None));

    let refused = whole
        .replace("status=200", "status=503")
        .replace("connect_ms=2 response_ms=3 data_ms=4", "connect_ms=-1 response_ms=-1 data_ms=-1")
        .replace("end=--", "end=SC");
    let entry = of("haproxy", &refused).expect("a line");
    assert_eq!((entry.status, entry.end), (503, SessionEnd::UpstreamUnreachable));
    assert_eq!((entry.times.uct_ms, entry.times.urt_ms), (None, None));

    assert_eq!(of("haproxy", "Proxy turnstile started."), None);

    // Numbers may be anything.
    let most = u64::MAX.to_string();
    let vast = whole
        .replace("begin_s=1795244023 begin_ms=214", &format!("begin_s={most} begin_ms={most}"))
        .replace("head_bytes=98", &format!("head_bytes={most}"))
        .replace(
            "connect_ms=2 response_ms=3 data_ms=4",
            "connect_ms=9223372036854775807 response_ms=9223372036854775807 data_ms=5",
        );
    let entry = of("haproxy", &vast).expect("a line");
    assert_eq!((entry.times.at_unix_ms, entry.body_bytes), (u64::MAX, Bytes(0)));
    assert_eq!(entry.times.urt_ms, Some(u64::MAX));
}

#[test]
fn lines_of_caddy() {
    let line = r#"{"level":"info","ts":1795244162.4018064,"logger":"http.log.access.log0","msg":"handled request","request":{"remote_ip":"127.0.0.1","remote_port":"59722","proto":"HTTP/1.1","method":"GET","host":"a","uri":"/bytes/300000000","headers":{}},"user_id":"","duration":0.302667611,"size":4294021,"status":200,"resp_headers":{}}"#;
    insta::assert_debug_snapshot!(of("caddy", line).expect("a line"));
    assert_eq!(of("caddy", r#"{"level":"info","msg":"x"}"#), None);
    assert_eq!(of("caddy", "not JSON"), None);
}

#[test]
fn lines_of_apache() {
    let line = "client=127.0.0.1 port=43590 pid=10042 end_ms=1795244129447 took_us=300691 status=200 \
                body_bytes=4218880 end=X request=GET /bytes/300000000 HTTP/1.1";
    insta::assert_debug_snapshot!(of("apache", line).expect("a line"));
    assert_eq!(of("apache", "nothing"), None);
}

#[test]
fn lines_of_h2o() {
    let line = "client=127.0.0.1 port=43606 begin_s=1795244131 begin_ms=222 status=200 body_bytes=4431237 \
                took_s=- head_s=0.001623 end=- request=GET /bytes/300000000 HTTP/1.1";
    insta::assert_debug_snapshot!(of("h2o", line).expect("a line"));
    let whole = line.replace("took_s=-", "took_s=0.25").replace("end=-", "end=0.25");
    let entry = of("h2o", &whole).expect("a line");
    assert_eq!(entry.end, SessionEnd::Completed);
    assert_eq!((entry.times.at_unix_ms, entry.times.rt_ms), (1_795_244_131_472, 250));
}
