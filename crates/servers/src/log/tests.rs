use proptest::prelude::*;

use super::*;
use crate::tests::server;

#[test]
fn seconds_become_milliseconds() {
    for (seconds, ms) in [(0.0, 0), (0.0004, 0), (0.0006, 1), (1.004, 1004), (1e300, u64::MAX)] {
        assert_eq!(millis(seconds), ms, "{seconds}");
    }
    assert_eq!(millis(1_795_244_129.132), 1_795_244_129_132);
}

proptest! {
    #[test]
    fn no_line_is_too_much(text in "(client=|port=|status=|=|[0-9]|[a-z]| request=|.)*") {
        for proxy in ["nginx", "haproxy", "caddy", "h2o"] {
            let _ = of(proxy, &text);
        }
    }
}

/// A line as each program writes it.
fn of(proxy: &str, text: &str) -> Option<Entry> {
    server(proxy).log.expect("a log").read(text, 1_795_244_131_900)
}

#[test]
fn lines_of_nginx() {
    let line = "client=127.0.0.1 port=4000 pid=7 status=200 body_bytes=102195 end_s=1795244129.132 took_s=0.760 \
                connect_s=0.330 head_s=0.430 upstream_s=0.755 end= request=GET /bytes/3MiB HTTP/1.1";
    insta::assert_debug_snapshot!(of("nginx", line).expect("a line"));
    let whole = of("nginx", &line.replace("end= ", "end=OK ")).expect("a line");
    assert_eq!(whole.end, SessionEnd::Completed);

    let given_up = line.replace("status=200 body_bytes=102195", "status=499 body_bytes=0").replace(
        "connect_s=0.330 head_s=0.430 upstream_s=0.755",
        "connect_s=- head_s=- upstream_s=0.000",
    );
    let entry = of("nginx", &given_up).expect("a line");
    assert_eq!((entry.status, entry.end), (499, SessionEnd::ClientClosed));
    assert_eq!((entry.times.uct_ms, entry.times.urt_ms), (None, Some(0)));
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
