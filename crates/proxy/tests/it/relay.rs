//! Bytes get through whole under every read policy, listener mode and buffer.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::mpsc::channel;

use records::SessionEnd;
use testkit::{body, origin};

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
fn a_slow_reader_ends_a_step_by_its_full_socket() {
    let (tell, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let upstream = origin(move |mut stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 8000000\r\n\r\n");
        let _ = stream.write_all(&pattern(8_000_000));
        let _ = gate.lock().map(|gate| gate.recv());
    });
    let proxy = Proxy::start(upstream, &["--hold", "1us", "--listen-sndbuf", "16384"]);
    let mut client = proxy.connect();
    client.write_all(&get("/bytes/8000000")).expect("the proxy reads");
    let mut some = [0; 1000];
    client.read_exact(&mut some).expect("a first piece");
    proxy.await_full_client();
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).expect("the whole answer");
    assert!(rest.len() > 7_990_000);
    drop(tell);
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
