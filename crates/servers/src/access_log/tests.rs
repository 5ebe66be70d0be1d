use std::sync::mpsc;

use proptest::prelude::*;

use super::*;
use crate::tests::server;

proptest! {
    #[test]
    fn lines_are_whole_however_they_come(
        text in "[ab\n]{0,40}",
        cuts in prop::collection::vec(0..40_usize, 0..5),
    ) {
        let dir = tempfile::TempDir::new().expect("a directory");
        let path = dir.path().join("log");
        std::fs::write(&path, "of an earlier run\n").expect("written");
        let (tell, told) = mpsc::channel();
        let follower = Follower::start(&path, move |event| tell.send(event).expect("heard"));
        let follower = follower.expect("a file");
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut out = File::options().append(true).open(&path).expect("ours");
        for pair in cuts.windows(2) {
            out.write_all(&text.as_bytes()[pair[0]..pair[1]]).expect("written");
            follower.thread.thread().unpark();
        }
        follower.finish().expect("it can be read");
        let line = |event| match event {
            Event::Logged(line) => line,
            other => panic!("{other:?}"),
        };
        let lines: Vec<String> = told.iter().map(line).collect();
        prop_assert_eq!(lines, text.lines().collect::<Vec<_>>());
    }
}

/// A log of that server which took in these lines.
fn log(proxy: &str, lines: &str) -> AccessLog {
    let dir = tempfile::TempDir::new().expect("a directory");
    let format = server(proxy).log.expect("a log");
    let at = |name| dir.path().join(name);
    let log = AccessLog::new(format, &at("access.log"), &at("its.log"), drop);
    let mut log = log.expect("files");
    log.finish().expect("nobody writes it");
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
