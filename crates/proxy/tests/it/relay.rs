//! Bytes get through whole under every read policy, listener mode and buffer; wrong bytes and broken
//! peers come to an answer or a close, a record, and a worker that goes on.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use flate2::read::GzDecoder;
use records::SessionEnd;
use socket2::SockRef;
use testkit::{PATIENCE, body, free_addr, open_files, origin, pick};

use crate::support::{Proxy, ask, bytes_origin, get, pattern, status};

#[test]
fn every_policy_passes_every_byte() {
    let origin = bytes_origin();
    for policy in ["drain", "short-read", "fionread", "bytes:64KiB", "reads:1", "time:100us"] {
        for mode in [&["--reuseport"][..], &[]] {
            let proxy = Proxy::start(origin, &[&["--read-policy", policy], mode].concat());
            for size in [0, 1, 4096, 3_000_000] {
                let answer = proxy.ask(&get(&format!("/bytes/{size}")));
                assert_eq!(status(&answer), 200, "{policy} {mode:?} {size}");
                assert!(body(&answer) == pattern(size), "{policy} {mode:?} {size}: other bytes");
                let session = proxy.await_session();
                assert_eq!(session.body_bytes.0, size as u64);
                assert_eq!(session.end, SessionEnd::Completed);
            }
        }
    }
}

#[test]
fn a_page_of_one_byte_still_passes_every_byte() {
    let proxy = Proxy::start(bytes_origin(), &["--buffer", "1", "--rcvbuf", "4096"]);
    let answer = proxy.ask(&get("/bytes/20000"));
    assert!(body(&answer) == pattern(20_000));
}

#[test]
fn many_at_once_are_all_served_and_all_told() {
    let proxy = Proxy::start(bytes_origin(), &["--workers", "4", "--reuseport"]);
    let addr = proxy.addr();
    std::thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                let answer = ask(addr, &get("/bytes/100000"));
                assert_eq!(body(&answer).len(), 100_000);
            });
        }
    });
    let told: Vec<_> = (0..100).map(|_| proxy.await_session()).collect();
    assert!(told.iter().all(|session| session.status == 200));
    let workers: std::collections::BTreeSet<u32> = told.iter().map(|s| s.worker).collect();
    assert!(workers.len() > 1, "the kernel hashed 100 connections to {workers:?}");
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
    let line = std::fs::read_to_string(log).expect("a log");
    assert!(line.contains("\"GET /bytes/5 HTTP/1.1\" status=499 body_bytes_sent=0 "), "{line}");
    assert!(line.contains("uht=\"-\""), "{line}");
}

/// The data of a whole body in chunks.
fn unchunked(mut wire: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    loop {
        let line = wire.windows(2).position(|two| two == b"\r\n").expect("a size line");
        let size = std::str::from_utf8(&wire[..line]).expect("a size is text");
        let size = usize::from_str_radix(size, 16).expect("a size is hexadecimal");
        data.extend_from_slice(&wire[line + 2..line + 2 + size]);
        wire = &wire[line + 2 + size + 2..];
        if size == 0 {
            assert!(wire.is_empty(), "something follows the end");
            return data;
        }
    }
}

fn gunzipped(answer: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let stream = unchunked(body(answer));
    GzDecoder::new(&*stream).read_to_end(&mut bytes).expect("a gzip stream");
    bytes
}

#[test]
fn who_asks_for_gzip_gets_every_byte_compressed() {
    for (level, policy) in [("1", "drain"), ("6", "fionread"), ("9", "bytes:64KiB")] {
        let args = ["--gzip", level, "--read-policy", policy];
        let proxy = Proxy::start(bytes_origin(), &args);
        for size in [20, 4096, 3_000_000] {
            let request =
                format!("GET /bytes/{size} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n");
            let answer = proxy.ask(request.as_bytes());
            let head = String::from_utf8_lossy(&answer[..200.min(answer.len())]).into_owned();
            assert!(head.contains("\r\nContent-Encoding: gzip\r\n"), "{level} {size}: {head}");
            assert!(!head.contains("Content-Length"), "{head}");
            assert!(gunzipped(&answer) == pattern(size), "{level} {size}: other bytes");
            let session = proxy.await_session();
            assert_eq!(session.end, SessionEnd::Completed);
            assert_eq!(session.body_bytes.0, body(&answer).len() as u64, "as it was sent");
        }
    }
}

fn still_serves(proxy: &Proxy) {
    let answer = proxy.ask(&get("/bytes/10"));
    assert_eq!((status(&answer), body(&answer).len()), (200, 10));
}

#[test]
fn no_bytes_from_a_client_stop_a_worker() {
    let proxy = Proxy::start(bytes_origin(), &["--workers", "1"]);
    let cases: [(&[u8], u16); 3] = [
        (b"\x00\x01\x02\x03\r\n\r\n", 400),
        (b"GET /bytes/5 HTTP/9.9\r\nHost: a\r\n\r\n", 505),
        (&[b'A'; 10_000], 431),
    ];
    for (request, expected) in cases {
        assert_eq!(status(&proxy.ask(request)), expected, "{}", String::from_utf8_lossy(request));
    }
    still_serves(&proxy);
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
fn who_is_absent_or_too_slow_is_told_apart() {
    let proxy = Proxy::start(free_addr(), &[]);
    assert_eq!(status(&proxy.ask(&get("/"))), 502);
    assert_eq!(proxy.await_session().end, SessionEnd::UpstreamUnreachable);

    let silent = origin(|stream, _| {
        std::thread::park_timeout(PATIENCE);
        drop(stream);
    });
    let args = ["--upstream-timeout", "200ms", "--header-timeout", "200ms"];
    let proxy = Proxy::start(silent, &args);
    assert_eq!(status(&proxy.ask(&get("/"))), 504);
    assert_eq!(proxy.await_session().end, SessionEnd::UpstreamTimeout);
    assert_eq!(status(&proxy.ask(b"GET / HTTP/1.1\r\nHost: a\r\n")), 408);
    assert!(proxy.ask(b"").is_empty(), "a silent client is closed without a word");
}

#[test]
fn a_full_worker_turns_clients_away_and_serves_when_there_is_room() {
    let args = ["--workers", "1", "--worker-connections", "2"];
    for batch in [&[][..], &["--multi-accept"]] {
        let proxy = Proxy::start(bytes_origin(), &[&args, batch].concat());
        let open = [proxy.connect(), proxy.connect()];
        for asked in [b"".as_slice(), &get("/bytes/10")] {
            // Closed, or reset where its request had come before that: no byte either way.
            assert!(proxy.try_ask(asked).is_empty());
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
