use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, mpsc};

use proptest::prelude::*;
use records::{Bytes, LogTimes, SessionEnd};

use super::*;
use crate::fixture::server;
use crate::log::Served;

fn entry(request: &str) -> Entry {
    Entry {
        client: IpAddr::V4(Ipv4Addr::LOCALHOST),
        client_port: 4000,
        served: Served::Unknown,
        request: request.to_owned(),
        status: 200,
        end: SessionEnd::Completed,
        body_bytes: Bytes(5),
        times: LogTimes {
            at_unix_ms: 1_795_244_129_132,
            rt_ms: 1_004,
            uct_ms: Some(0),
            uht_ms: Some(20),
            urt_ms: None,
        },
    }
}

fn line(entry: &Entry) -> String {
    Published { entry, zone: &TimeZone::UTC }.to_string()
}

#[test]
fn lines_are_in_the_published_format() {
    insta::assert_snapshot!(line(&entry("GET /bytes/5 HTTP/1.1")), @r#"127.0.0.1 [21/Nov/2026:06:55:29 +0000] "GET /bytes/5 HTTP/1.1" status=200 body_bytes_sent=5 rt=1.004 uct="0.000" uht="0.020" urt="-" port=4000 msec=1795244129.132"#);
}

proptest! {
    #[test]
    fn what_is_written_reads_back(request in ".*", sent in any::<u32>(), rt_ms in 0..100_000_u64) {
        let mut written = entry(&request);
        written.body_bytes = Bytes(sent.into());
        written.times.rt_ms = rt_ms;
        let text = line(&written);
        prop_assert!(!text.contains('\n'));
        let read = server("nginx").log.expect("a log").read(&text, 0);
        let mut read = read.expect("a line");
        read.end = written.end;
        prop_assert_eq!(read, written);
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
        let file = open(&path).expect("a file");
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let done = Arc::new(AtomicBool::new(false));
        let follow = thread::spawn({
            let done = Arc::clone(&done);
            move || {
                let mut lines = Vec::new();
                follow(file, &done, |line| lines.push(line.to_owned())).expect("it can be read");
                lines
            }
        });
        let mut out = File::options().append(true).open(&path).expect("ours");
        for pair in cuts.windows(2) {
            out.write_all(&text.as_bytes()[pair[0]..pair[1]]).expect("written");
            follow.thread().unpark();
        }
        done.store(true, Ordering::Release);
        follow.thread().unpark();
        let expected: Vec<&str> = text.lines().collect();
        prop_assert_eq!(follow.join().expect("no panic"), expected);
    }
}

fn reader(proxy: &str) -> LogReader {
    LogReader::new(server(proxy).log.expect("a log"), None)
}

#[test]
fn a_file_is_followed_to_the_end_that_it_has_when_told() {
    let dir = tempfile::TempDir::new().expect("a directory");
    let path = dir.path().join("access.log");
    std::fs::write(&path, "of an earlier run\n").expect("written");
    let log = open(&path).expect("a file");
    let done = Arc::new(AtomicBool::new(false));
    let (tell, told) = mpsc::channel();
    let follow = thread::spawn({
        let done = Arc::clone(&done);
        move || {
            let mut reader = reader("nginx");
            let read = follow(log, &done, |line| {
                if let Some(entry) = reader.line(line).expect("nothing is written") {
                    tell.send(entry.client_port).expect("heard");
                }
            });
            read.map(|()| reader.unread())
        }
    });
    let mut file = File::options().append(true).open(&path).expect("ours");
    let text = line(&entry("GET /bytes/5 HTTP/1.1"));
    writeln!(file, "{text}").expect("written");
    assert_eq!(told.recv(), Ok(4000), "while it goes on");
    write!(file, "garbage\n{}", text.replace("port=4000", "port=4001")).expect("written");
    done.store(true, Ordering::Release);
    follow.thread().unpark();
    let unread = follow.join().expect("no panic").expect("it can be read");
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [4001], "also without its newline");
    // In a file that is the log and nothing else, a line that says nothing is missing.
    assert_eq!(unread, Unread { lines: 1, first: "garbage".to_owned() });
}

/// What of `text` is taken for lines of a log that cannot be read.
fn unread(proxy: &str, text: &str) -> Unread {
    let mut reader = reader(proxy);
    for line in text.lines() {
        reader.line(line).expect("nothing is written");
    }
    reader.unread()
}

#[test]
fn what_a_program_chats_beside_its_log_is_not_missed() {
    let chatter = "[NOTICE] (1) : New worker forked\n\nProxy turnstile started.\n";
    assert_eq!(unread("haproxy", chatter), Unread::default());
    let torn = "client=127.0.0.1 port=4000 begin_s=1795";
    let all = format!("{chatter}{torn}\n{chatter}client=\n");
    assert_eq!(unread("haproxy", &all), Unread { lines: 2, first: torn.to_owned() });
    let other = r#"{"level":"info","ts":1.5,"msg":"serving initial configuration"}"#;
    assert_eq!(unread("caddy", other), Unread::default());
    let torn = r#"{"level":"info","ts":1.5,"logger":"http.log.access.log0","msg":"han"#;
    assert_eq!(unread("caddy", torn).lines, 1);
}

#[test]
fn a_fifo_is_no_log() {
    let dir = tempfile::TempDir::new().expect("a directory");
    let path = dir.path().join("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .expect("a FIFO");
    let refused = open(&path).expect_err("not a file").to_string();
    assert!(refused.contains("--access-log"), "{refused}");
}

#[test]
fn wall_times_come_out_on_the_monotonic_clock() {
    let wall = WallClock::read();
    let (before, read, after) = (clock::now().0, unix_ms(), clock::now().0);
    let mono = wall.mono(read).0;
    // A wall time in milliseconds is up to one of them early.
    assert!(mono + 2_000_000 >= before && mono <= after + 2_000_000);
    assert_eq!(wall.mono(0), MonoNs(0));
}
