//! `--log-mode inline`: the worker writes its log itself, whole lines, and waits for the file.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use records::{Record, Session, Stretch};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use tempfile::TempDir;
use testkit::{Process, Running, pick, read_head};

use crate::support::{Proxy, ask, bytes_origin, command, get, status};

fn inline<'a>(log: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let log = log.to_str().expect("a path");
    [&["--log-mode", "inline", "--access-log", log], more].concat()
}

#[test]
fn a_line_is_in_the_file_before_the_connection_is_closed() {
    let dir = tempfile::tempdir().expect("a folder");
    let log = dir.path().join("access.log");
    let proxy = Proxy::start(bytes_origin(), &inline(&log, &["--workers", "2", "--reuseport"]));
    for asked in 1..=20 {
        proxy.ask(&get("/bytes/5"));
        let lines = std::fs::read_to_string(&log).expect("a log");
        assert_eq!(lines.lines().count(), asked, "{lines}");
        let last = lines.lines().last().expect("a line");
        assert!(last.contains("\"GET /bytes/5 HTTP/1.1\" status=200 body_bytes_sent=5 "), "{last}");
    }
    // Nothing was asked: nothing is logged.
    drop(proxy.connect());
    proxy.await_record("a session without a request", |record| match record {
        Record::Session(session) => (session.status == 0).then_some(()),
        _ => None,
    });
    assert_eq!(std::fs::read_to_string(&log).expect("a log").lines().count(), 20);
}

/// A FIFO that is full, and that nobody empties until told to.
struct FullFifo {
    path: PathBuf,
    /// Keeps a reader and a writer there.
    _both_ends: File,
    _dir: TempDir,
}

impl FullFifo {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("access.fifo");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut both_ends = File::from(open(&path, flags, Mode::empty()).expect("its ends"));
        // By the page, then by the byte: no line finds room in the last page.
        for size in [4096, 1] {
            while both_ends.write(&vec![b'.'; size]).is_ok() {}
        }
        Self { path, _both_ends: both_ends, _dir: dir }
    }

    fn reader(&self) -> File {
        File::open(&self.path).expect("it has a writer")
    }
}

/// Asks for five bytes and reads just the answer, not the close that follows it.
fn ask_without_close(proxy: &Proxy) {
    let mut client = proxy.connect();
    client.write_all(&get("/bytes/5")).expect("the kernel takes it");
    assert_eq!(status(read_head(&client).as_bytes()), 200);
    client.read_exact(&mut [0; 5]).expect("a body");
}

#[test]
fn a_log_that_takes_nothing_holds_up_the_worker() {
    let fifo = FullFifo::new();
    let proxy = Proxy::start(bytes_origin(), &inline(&fifo.path, &["--workers", "1"]));
    // Its answer is whole when its line is to be written; no other session is served from then on.
    ask_without_close(&proxy);
    let first = proxy.await_session();
    let mut second = proxy.connect();
    second.write_all(&get("/bytes/10")).expect("the kernel takes it");

    let read_at = net::clock::now();
    let mut reader = fifo.reader();
    let mut waste = vec![0; 1 << 20];
    let filled = reader.read(&mut waste).expect("it is full");
    assert!(waste[..filled].iter().all(|byte| *byte == b'.'), "no line went in before");
    let mut answer = Vec::new();
    second.read_to_end(&mut answer).expect("an answer, now");
    assert_eq!(status(&answer), 200);

    let rest = proxy.stop();
    let sessions: Vec<&Session> = rest.iter().filter_map(pick!(Session)).collect();
    let [second] = sessions[..] else { panic!("{sessions:?}") };
    assert!(first.closed_ns < read_at, "told before its line could be written");
    assert!(read_at < second.accepted_ns, "not even accepted before the log was read");
    // One stretch has all of the waiting in it.
    let mut stretches = rest.iter().filter_map(pick!(Stretch));
    let held = stretches.find(|held: &&Stretch| held.start_ns <= read_at && read_at < held.end_ns);
    let held = held.expect("the worker's life has no gap");
    assert!(held.start_ns <= first.closed_ns, "{held:?} {first:?}");
}

#[test]
fn a_worker_that_waits_for_its_log_does_not_keep_the_process_alive_and_is_told_of() {
    let fifo = FullFifo::new();
    let args = inline(&fifo.path, &["--workers", "1"]);
    let mut proxy = Process::start(&mut command(bytes_origin(), &args));
    let mut client = proxy.connect();
    client.write_all(&get("/bytes/5")).expect("the kernel takes it");
    proxy.await_record("its session, which does not wait for its line", pick!(Session));
    let said = proxy.stop();
    assert_eq!(said.code(), Some(1), "{}", said.all());
    assert!(said.stderr.contains("failed to end 1 of its workers within 3 s"), "{}", said.stderr);
    assert!(said.stderr.contains("are lost"), "{}", said.stderr);
}

#[test]
fn a_fifo_without_a_reader_is_refused_at_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("access.fifo");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
    let by_the_writer = vec!["--access-log", path.to_str().expect("a path")];
    for args in [inline(&path, &[]), by_the_writer] {
        let said = Running::start(&mut command(bytes_origin(), &args)).finish();
        let said = said.refused(1);
        assert!(said.contains("access.fifo: it is a FIFO that nobody reads"), "{said}");
    }
}

#[test]
fn a_log_that_cannot_be_written_is_told_once_and_ends_nothing() {
    // full(4): every write fails with ENOSPC.
    let full = Path::new("/dev/full");
    let args = inline(full, &["--workers", "1"]);
    let mut proxy = Process::start(&mut command(bytes_origin(), &args));
    for _ in 0..20 {
        assert_eq!(status(&ask(proxy.addr(), &get("/bytes/5"))), 200);
    }
    let said = proxy.stop().ended_well();
    let lines: Vec<&str> = said.stderr.lines().collect();
    let [first, last] = lines[..] else { panic!("{}", said.stderr) };
    assert!(first.contains("failed to write the access log /dev/full: No space left"), "{first}");
    assert!(first.contains("make room there"), "{first}");
    assert_eq!(last, "proxy: lost 20 lines of the access log /dev/full");
}
