use records::{AcceptMode, BufferingMode, Bytes, Content, Spool};

use super::*;
use crate::build::Version;
use crate::fixture::{arm, build, with_setting};

/// Configuration, command line and environment, as text.
fn made(arm: &Arm, build: &Build, pin: Option<&str>) -> String {
    let driver = of(&arm.proxy).expect("a template").expect("a driver");
    with_setting(arm, build, pin, |setting| {
        let mut text = String::new();
        for file in driver.configuration(setting) {
            text += &format!("== {}\n{}", file.name, file.text);
        }
        let Invocation { args, env } = driver.invocation(setting);
        let env: Vec<_> = env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        text + &format!("== {}\n", [env.join(" "), args.join(" ")].join(" ").trim())
    })
}

/// All that can be asked of a proxy about its sockets and buffers.
fn asking(proxy: &str) -> Arm {
    Arm {
        reuseport: true,
        workers: 3,
        listen_rcvbuf: Some(Bytes(40_960)),
        listen_sndbuf: Some(Bytes(50_000)),
        backlog: 1024,
        multi_accept: true,
        buffer: Bytes::kib(16),
        ..arm(proxy)
    }
}

fn nginx(version: Version) -> Build {
    build("nginx", version, "--without-http_scgi_module")
}

#[test]
fn nginx_by_default() {
    insta::assert_snapshot!(made(&arm("nginx"), &nginx(Version(1, 22, 1)), None));
}

#[test]
fn nginx_with_toggles() {
    let arm = Arm {
        rcvbuf: Some(Bytes(40_960)),
        sndbuf: Some(Bytes(60_000)),
        buffering: BufferingMode::On,
        spool: Spool::Dir("/spool".into()),
        spool_max: Some(Bytes::mib(8)),
        directives: vec!["proxy_cache off;".to_owned()],
        ..asking("nginx")
    };
    insta::assert_snapshot!(made(&arm, &nginx(Version(1, 31, 3)), Some("0,2")));
}

#[test]
fn nginx_with_files_and_gzip() {
    let arm =
        Arm { content: Content::File, gzip: Some(6), accept: AcceptMode::Mutex, ..arm("nginx") };
    insta::assert_snapshot!(made(&arm, &nginx(Version(1, 10, 3)), None));
}

#[test]
fn haproxy_by_default() {
    insta::assert_snapshot!(made(&arm("haproxy"), &build("haproxy", Version(2, 6, 12), ""), None));
}

#[test]
fn haproxy_with_toggles() {
    let lines = ["tune.maxpollevents 8", "option splice-response", "no option http-keep-alive"];
    let arm = Arm {
        rcvbuf: Some(Bytes(40_960)),
        directives: lines.map(str::to_owned).into(),
        ..asking("haproxy")
    };
    insta::assert_snapshot!(made(&arm, &build("haproxy", Version(2, 6, 12), ""), Some("1")));
}

#[test]
fn caddy() {
    let arm = Arm { gzip: Some(5), content: Content::File, ..arm("caddy") };
    insta::assert_snapshot!(made(&arm, &build("caddy", Version(2, 6, 2), ""), Some("0")));
}

#[test]
fn apache() {
    let arm =
        Arm { rcvbuf: Some(Bytes(40_960)), gzip: Some(1), reuseport: false, ..asking("apache") };
    let made = made(&arm, &build("apache", Version(2, 4, 71), ""), None);
    // Where this host has its modules.
    insta::with_settings!({filters => vec![(r"/\S*/mod_", "MODULES/mod_")]}, {
        insta::assert_snapshot!(made);
    });
}

#[test]
fn h2o() {
    insta::assert_snapshot!(made(&arm("h2o"), &build("h2o", Version(2, 2, 5), ""), None));
}

#[test]
fn a_command() {
    let template = "exec:/bin/p -l{listen} '{origin} x' \"{workers}\"";
    let made = made(&arm(template), &build("exec", Version::default(), ""), None);
    assert_eq!(made, "== -l127.0.0.1:8000 127.0.0.1:9000 x 2\n");
}

/// A line as each program writes it.
fn read(proxy: &str, text: &str) -> Option<Entry> {
    let driver = of(&proxy.parse().expect("a proxy")).expect("none").expect("a driver");
    driver.read(Read { text, read_unix_ms: 1_795_244_131_900 })
}

#[test]
fn lines_of_haproxy() {
    let whole = "client=127.0.0.1 port=36976 acc=1795244023.214 thread=1 status=200 out=119 \
                 head=98 tc=2 tr=3 td=4 ta=10 tt=11 end=-- request=GET /bytes/1 HTTP/1.1";
    let entry = read("haproxy", whole).expect("a line");
    insta::assert_debug_snapshot!(entry);

    let cut = whole.replace("end=--", "end=CD").replace("out=119", "out=4357195");
    let entry = read("haproxy", &cut).expect("a line");
    assert_eq!((entry.status, entry.end), (200, records::SessionEnd::ClientClosed));

    let given_up = whole
        .replace("status=200", "status=-1")
        .replace("tr=3 td=4", "tr=-1 td=-1")
        .replace("head=98", "head=")
        .replace("end=--", "end=CH");
    let entry = read("haproxy", &given_up).expect("a line");
    assert_eq!((entry.status, entry.body_bytes), (499, Bytes(0)));
    assert_eq!((entry.times.uct_ms, entry.times.uht_ms), (Some(2), None));

    let refused = whole
        .replace("status=200", "status=503")
        .replace("tc=2 tr=3 td=4", "tc=-1 tr=-1 td=-1")
        .replace("end=--", "end=SC");
    let entry = read("haproxy", &refused).expect("a line");
    assert_eq!((entry.status, entry.end), (503, records::SessionEnd::UpstreamUnreachable));
    assert_eq!((entry.times.uct_ms, entry.times.urt_ms), (None, None));

    assert_eq!(read("haproxy", "Proxy turnstile started."), None);

    // Numbers may be anything.
    let most = u64::MAX.to_string();
    let vast = whole
        .replace("acc=1795244023.214", &format!("acc={most}.{most}"))
        .replace("head=98", &format!("head={most}"))
        .replace("tc=2 tr=3 td=4", "tc=9223372036854775807 tr=9223372036854775807 td=5");
    let entry = read("haproxy", &vast).expect("a line");
    assert_eq!((entry.times.at_unix_ms, entry.body_bytes), (u64::MAX, Bytes(0)));
    assert_eq!(entry.times.urt_ms, Some(u64::MAX));
}

#[test]
fn lines_of_caddy() {
    let line = r#"{"level":"info","ts":1795244162.4018064,"logger":"http.log.access.log0","msg":"handled request","request":{"remote_ip":"127.0.0.1","remote_port":"59722","proto":"HTTP/1.1","method":"GET","host":"a","uri":"/bytes/300000000","headers":{}},"user_id":"","duration":0.302667611,"size":4294021,"status":200,"resp_headers":{}}"#;
    insta::assert_debug_snapshot!(read("caddy", line).expect("a line"));
    assert_eq!(read("caddy", r#"{"level":"info","msg":"x"}"#), None);
    assert_eq!(read("caddy", "not JSON"), None);
}

#[test]
fn lines_of_apache() {
    let line = "client=127.0.0.1 port=43590 pid=10042 end=1795244129447 us=300691 status=200 \
                bytes=4218880 closed=X request=GET /bytes/300000000 HTTP/1.1";
    insta::assert_debug_snapshot!(read("apache", line).expect("a line"));
    assert_eq!(read("apache", "nothing"), None);
}

#[test]
fn lines_of_h2o() {
    let line = "client=127.0.0.1 port=43606 secs=1795244131 ms=222 status=200 bytes=4431237 took=- \
                thought=0.001623 request=GET /bytes/300000000 HTTP/1.1";
    insta::assert_debug_snapshot!(read("h2o", line).expect("a line"));
    let whole = line.replace("took=-", "took=0.25");
    let entry = read("h2o", &whole).expect("a line");
    assert_eq!(entry.end, records::SessionEnd::Completed);
    assert_eq!((entry.times.at_unix_ms, entry.times.rt_ms), (1_795_244_131_472, 250));
}
