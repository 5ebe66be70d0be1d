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

/// What is read of a line: who served it, how it ended, and all else as it is published.
fn told(proxy: &str, text: &str) -> String {
    let Entry { client, served, session } = of(proxy, text).expect("a line");
    let line = LogLine { client, session: &session, zone: &TimeZone::UTC };
    let (port, at_ms) = (session.client_port, session.log.at_unix_ms);
    format!("{line} port={port} at={at_ms} {served:?} {:?}", session.end)
}

/// `line` with these parts of it changed.
fn with(line: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(line.to_owned(), |line, (from, to)| {
        assert!(line.contains(from), "{from}");
        line.replace(from, to)
    })
}

const NGINX: &str = "client=127.0.0.1 port=4000 pid=7 status=200 body_bytes=102195 end_s=1795244129.132 took_s=0.760 \
                     connect_s=0.330 head_s=0.430 upstream_s=0.755 end= request=GET /bytes/3MiB HTTP/1.1";
const HAPROXY: &str = "client=127.0.0.1 port=36976 begin_s=1795244023 begin_ms=214 thread=1 status=200 out_bytes=119 \
                       head_bytes=98 connect_ms=2 response_ms=3 data_ms=4 took_ms=10 total_ms=11 end=-- request=GET /bytes/1 HTTP/1.1";
const CADDY: &str = r#"{"level":"info","ts":1795244162.4018064,"logger":"http.log.access.log0","msg":"handled request","request":{"remote_ip":"127.0.0.1","remote_port":"59722","proto":"HTTP/1.1","method":"GET","host":"a","uri":"/bytes/300000000","headers":{}},"user_id":"","duration":0.302667611,"size":4294021,"status":200,"resp_headers":{}}"#;
const APACHE: &str = "client=127.0.0.1 port=43590 pid=10042 end_ms=1795244129447 took_us=300691 status=200 \
                      body_bytes=4218880 end=X request=GET /bytes/300000000 HTTP/1.1";
const H2O: &str = "client=127.0.0.1 port=43606 begin_s=1795244131 begin_ms=222 status=200 body_bytes=4431237 \
                   took_s=- head_s=0.001623 end=- request=GET /bytes/300000000 HTTP/1.1";

/// Whose line, and what is changed in it.
type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

#[test]
fn lines_of_each_program() {
    let most = u64::MAX.to_string();
    let vast = format!("begin_s={most} begin_ms={most}");
    let vast_head = format!("head_bytes={most}");
    let upstream = "connect_ms=2 response_ms=3 data_ms=4";
    let given_up = [
        ("status=200 body_bytes=102195", "status=499 body_bytes=0"),
        ("connect_s=0.330 head_s=0.430 upstream_s=0.755", "connect_s=- head_s=- upstream_s=0.000"),
    ];
    let silent = [
        ("status=200", "status=-1"),
        ("response_ms=3 data_ms=4", "response_ms=-1 data_ms=-1"),
        ("head_bytes=98", "head_bytes="),
        ("end=--", "end=CH"),
    ];
    let refused = [
        ("status=200", "status=503"),
        (upstream, "connect_ms=-1 response_ms=-1 data_ms=-1"),
        ("end=--", "end=SC"),
    ];
    let numbers = [
        ("begin_s=1795244023 begin_ms=214", vast.as_str()),
        ("head_bytes=98", vast_head.as_str()),
        (upstream, "connect_ms=9223372036854775807 response_ms=9223372036854775807 data_ms=5"),
    ];
    let cut = [("end=--", "end=CD"), ("out_bytes=119", "out_bytes=4357195")];
    let cases: [Case<'_>; 11] = [
        ("nginx", NGINX, &[]),
        ("nginx", NGINX, &[("end= ", "end=OK ")]),
        ("nginx", NGINX, &given_up),
        ("haproxy", HAPROXY, &[]),
        ("haproxy", HAPROXY, &cut),
        ("haproxy", HAPROXY, &silent),
        ("haproxy", HAPROXY, &refused),
        // Numbers may be anything.
        ("haproxy", HAPROXY, &numbers),
        ("caddy", CADDY, &[]),
        ("apache", APACHE, &[]),
        ("h2o", H2O, &[]),
    ];
    let lines = cases.map(|(proxy, line, changes)| told(proxy, &with(line, changes)));
    let whole = with(H2O, &[("took_s=-", "took_s=0.25"), ("end=-", "end=0.25")]);
    insta::assert_snapshot!([lines.as_slice(), &[told("h2o", &whole)]].concat().join("\n"));
}

#[test]
fn what_is_no_line_is_none() {
    for (proxy, text) in [
        ("haproxy", "Proxy turnstile started."),
        ("caddy", r#"{"level":"info","msg":"x"}"#),
        ("caddy", "not JSON"),
        ("apache", "nothing"),
    ] {
        assert_eq!(of(proxy, text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn lines_are_whole_however_they_come(
        text in "[ab\n]{0,40}",
        cuts in prop::collection::vec(0..40_usize, 0..5),
    ) {
        let dir = tempfile::TempDir::new().expect("a directory");
        let path = dir.path().join("log");
        std::fs::write(&path, "of an earlier run\n").expect("written");
        let mut log = Written::begin(&path).expect("a file");
        let mut lines = Vec::new();
        let mut read = |last| lines.extend(std::iter::from_fn(|| log.next(last).expect("read")));
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut out = File::options().append(true).open(&path).expect("ours");
        for pair in cuts.windows(2) {
            out.write_all(&text.as_bytes()[pair[0]..pair[1]]).expect("written");
            read(Last::No);
        }
        read(Last::Yes);
        prop_assert_eq!(lines, text.lines().collect::<Vec<_>>());
    }
}

/// A log of that server which took in these lines.
fn log(proxy: &str, lines: &str) -> AccessLog {
    let dir = tempfile::TempDir::new().expect("a directory");
    let format = server(proxy).log.expect("a log");
    let at = |name| dir.path().join(name);
    let mut log = AccessLog::new(format, &at("access.log"), &at("its.log")).expect("files");
    lines.lines().for_each(|line| log.line(line).expect("written"));
    log
}

#[test]
fn what_a_program_chats_beside_its_log_is_not_missed() {
    let unread = |proxy: &str, text: &str| log(proxy, text).unread;
    let chatter = "[NOTICE] (1) : New worker forked\n\nProxy turnstile started.\n";
    assert_eq!(unread("haproxy", chatter), Unread::default());
    let torn = "client=127.0.0.1 port=4000 begin_s=1795";
    let all = format!("{chatter}{torn}\n{chatter}client=\n");
    assert_eq!(unread("haproxy", &all), Unread { lines: 2, first: torn.to_owned() });
    // In a file that is the log and nothing else, every line that says nothing is missing.
    assert_eq!(unread("nginx", "garbage\n").lines, 1);
    let other = r#"{"level":"info","ts":1.5,"msg":"serving initial configuration"}"#;
    assert_eq!(unread("caddy", other), Unread::default());
    let torn = r#"{"level":"info","ts":1.5,"logger":"http.log.access.log0","msg":"han"#;
    assert_eq!(unread("caddy", torn).lines, 1);
}

#[test]
fn one_request_from_each_of_our_ports_is_nobodys_session() {
    let line = "client=127.0.0.1 port=PORT pid=7 status=200 body_bytes=1 end_s=1 took_s=0 end=OK request=GET /";
    let lines = ["1", "2", "1"].map(|port| line.replace("PORT", port)).join("\n");
    let entries = log("nginx", &lines).take_entries(vec![1, 3]);
    assert_eq!(entries.iter().map(|entry| entry.session.client_port).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn wall_times_come_out_on_the_monotonic_clock() {
    let ahead_ns = clock::unix_ahead_ns();
    // A wall time in milliseconds is up to one of them early.
    let now = clock::of_unix_ms(clock::unix_ms(), ahead_ns);
    assert!(now.0.abs_diff(clock::now().0) < 1_000_000_000);
    assert_eq!(clock::of_unix_ms(0, ahead_ns).0, 0);
}
