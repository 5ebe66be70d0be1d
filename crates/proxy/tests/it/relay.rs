//! Bytes get through whole by every read policy, buffered or not; broken peers come to
//! an answer or a close, a record, and a worker that goes on.

use std::fs::{self, Metadata};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use records::SessionEnd;
use socket2::SockRef;
use testkit::{PATIENCE, body, free_addr, open_files, origin, pick};

use crate::support::{Proxy, bytes_origin, get, pattern, resident_kib, status};

#[test]
fn every_byte_passes_by_every_policy_on_every_way() {
    let origin = bytes_origin();
    let dir = tempfile::tempdir().expect("a folder");
    let spool = dir.path().to_str().expect("a path");
    let ways = [
        &["--reuseport"][..],
        &["--buffer", "1", "--rcvbuf", "4096", "--multi-accept"],
        &["--buffering", "on", "--spool", spool, "--spool-max", "10000"],
    ];
    for policy in ["drain", "short-read", "fionread", "bytes:64KiB", "reads:1", "time:100us"] {
        for way in ways {
            let proxy = Proxy::start(origin, &[&["--read-policy", policy], way].concat());
            for size in [0, 1, 4096, if way.contains(&"1") { 20_000 } else { 1_000_000 }] {
                let answer = proxy.ask(&get(&format!("/bytes/{size}")));
                assert_eq!(status(&answer), 200, "{policy} {way:?} {size}");
                assert!(body(&answer) == pattern(size), "{policy} {way:?} {size}: other bytes");
                let session = proxy.await_session();
                assert_eq!(session.end, SessionEnd::Completed);
                assert_eq!(session.body_bytes.0, size as u64);
            }
        }
    }
}

#[test]
fn a_client_that_leaves_before_the_answer_is_499_in_record_and_log() {
    let (asked, was_asked) = channel();
    let (tell, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let upstream = origin(move |stream, _| {
        let _ = asked.send(());
        let _ = gate.lock().map(|gate| gate.recv());
        drop(stream);
    });
    let dir = tempfile::tempdir().expect("a folder");
    let log = dir.path().join("access.log");
    let log_arg = log.to_str().expect("a path").to_owned();
    let proxy = Proxy::start(upstream, &["--access-log", &log_arg]);
    let mut client: TcpStream = proxy.connect();
    client.write_all(&get("/bytes/5")).expect("the proxy reads");
    was_asked.recv().expect("the origin was asked");
    drop(client);
    let session = proxy.await_session();
    assert_eq!((session.status, session.end), (499, SessionEnd::ClientClosed));
    drop(tell);
    proxy.stop();
    let line = fs::read_to_string(log).expect("a log");
    assert!(line.contains("\"GET /bytes/5 HTTP/1.1\" status=499 body_bytes_sent=0 "), "{line}");
    assert!(line.contains("uht=\"-\""), "{line}");
}

fn still_serves(proxy: &Proxy) {
    let answer = proxy.ask(&get("/bytes/10"));
    assert_eq!((status(&answer), body(&answer).len()), (200, 10));
}

#[test]
fn resets_at_any_point_leave_nothing_behind() {
    let proxy = Proxy::start(bytes_origin(), &["--workers", "1", "--reuseport"]);
    let request = get("/bytes/3000000");
    still_serves(&proxy);
    proxy.await_session();
    let before = open_files(proxy.id());
    for cut in (0..=request.len()).step_by(7).chain([request.len()]) {
        let mut client = proxy.connect();
        SockRef::from(&client).set_linger(Some(Duration::ZERO)).expect("RST on close");
        client.write_all(&request[..cut]).expect("the proxy reads");
        drop(client);
        proxy.await_session();
    }
    still_serves(&proxy);
    proxy.await_session();
    assert_eq!(open_files(proxy.id()), before, "descriptors come back");
}

#[test]
fn an_upstream_that_is_absent_is_told_and_a_client_that_stays_is_cut_in_time() {
    let proxy = Proxy::start(free_addr(), &[]);
    assert_eq!(status(&proxy.ask(&get("/"))), 502);
    assert_eq!(proxy.await_session().end, SessionEnd::UpstreamUnreachable);

    // One that has said more than is read is lingered over for five seconds, which is nearer than the
    // minute that its head had.
    let mut client = proxy.connect();
    client.write_all(&[b"junk\r\n\r\n".as_slice(), &[b'x'; 20_000]].concat()).expect("it reads");
    assert_eq!(proxy.await_session().end, SessionEnd::BadRequest);
    drop(client);
}

#[test]
fn a_full_worker_turns_clients_away_and_serves_when_there_is_room() {
    let args = ["--workers", "1", "--worker-connections", "2"];
    for batch in [&[][..], &["--multi-accept"]] {
        let proxy = Proxy::start(bytes_origin(), &[&args, batch].concat());
        let open = [proxy.connect(), proxy.connect()];
        for asked in [b"".as_slice(), &get("/bytes/10")] {
            // Closed, or reset where its request had come before that: no byte either way.
            assert!(proxy.ask(asked).is_empty());
            let session = proxy.await_session();
            assert_eq!((session.status, session.end), (0, SessionEnd::TurnedAway));
        }
        drop(open);
        (0..2).for_each(|_| drop(proxy.await_session()));
        still_serves(&proxy);
        let totals = proxy.stop().into_iter().find_map(pick!(WorkerTotals)).expect("totals");
        assert_eq!((totals.sessions, totals.accept_pauses), (5, 2), "all are counted");
    }
}

/// More than the sockets on the way hold: with a receive buffer of 64 KiB at the client.
const LARGE: usize = 64 << 20;

/// The files without a name that the proxy has open in `dir`.
fn spool_files(proxy: &Proxy, dir: &Path) -> Vec<Metadata> {
    let device = fs::metadata(dir).expect("a folder").dev();
    let fds = fs::read_dir(format!("/proc/{}/fd", proxy.id())).expect("ours");
    fds.filter_map(|fd| fs::metadata(fd.ok()?.path()).ok())
        .filter(|file| file.is_file() && file.nlink() == 0 && file.dev() == device)
        .collect()
}

#[test]
fn an_upstream_is_drained_while_its_client_takes_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let (tell, drained) = channel();
    let upstream = origin(move |mut stream, _| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LARGE}\r\n\r\n");
        let _ = stream.write_all(&[head.as_bytes(), &pattern(LARGE)].concat());
        // Closing waits for nothing: the kernel still has the last of it.
        let _ = stream.read(&mut [0]);
        let _ = tell.send(());
    });
    let spool = dir.path().to_str().expect("a path");
    let proxy = Proxy::start(upstream, &["--workers", "1", "--buffering", "on", "--spool", spool]);
    let before = resident_kib(proxy.id());
    // It takes nothing.
    let mut client = proxy.connect();
    SockRef::from(&client).set_recv_buffer_size(32 << 10).expect("a small buffer");
    client.write_all(&get("/")).expect("the proxy reads");
    drained.recv_timeout(PATIENCE).expect("the origin is let go");
    let grown = resident_kib(proxy.id()).saturating_sub(before);
    assert!(grown < 4 << 10, "{grown} KiB for one session");
    let [file] = &spool_files(&proxy, dir.path())[..] else { panic!("one file without a name") };
    assert!(file.len() > LARGE as u64 / 2, "{} bytes in it", file.len());
    assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 0, "it has no name");

    let mut answer = Vec::new();
    client.read_to_end(&mut answer).expect("the whole answer");
    assert!(body(&answer) == pattern(LARGE), "other bytes");
    let session = proxy.await_session();
    assert_eq!((session.end, session.body_bytes.0), (SessionEnd::Completed, LARGE as u64));
    assert!(spool_files(&proxy, dir.path()).is_empty());
}
