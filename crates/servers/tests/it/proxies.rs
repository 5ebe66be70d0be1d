//! Each program under a few requests: what it tells, in the mirror's own records.

use std::io::Read;
use std::net::Shutdown;

use records::{Bytes, Role, SessionEnd, Visibility};
use serde_json::json;
use testkit::{await_gone, installed, pick};

use crate::support::{Server, arm, request};

/// Whole answers, an answer that is cut by its client, and nothing left.
fn serves(proxy: &str) {
    let mut server = Server::start(&arm(proxy, json!({})), &[]);
    assert_eq!(server.ready.role, Role::Proxy);
    assert_eq!(server.ready.pid, server.id());
    assert_eq!(server.ready.visibility, Visibility::LogOnly);
    let program = server.ready.program.clone().expect("it is named");
    assert_eq!(program.name, proxy);
    assert!(program.path.is_absolute() && !program.version.is_empty(), "{program:?}");
    assert!(server.ready.effective.congestion.is_some());

    for size in [1, 10_000, 3_000_000] {
        let (port, body) = server.fetch(&size.to_string());
        assert_eq!(body, size);
        let session = server.await_session(port);
        assert_eq!(session.request, format!("GET /bytes/{size} HTTP/1.1"));
        assert_eq!((session.status, session.end), (200, SessionEnd::Completed), "{session:?}");
        assert_eq!(session.body_bytes, Bytes(size as u64));
        assert!(session.accepted_ns <= session.closed_ns);
        assert!(session.log.at_unix_ms > 0);
    }
    // The client goes in the middle of an answer that fits into no buffer.
    let mut stream = server.connect();
    let port = stream.local_addr().expect("connected").port();
    request(&mut stream, "900000000");
    stream.read_exact(&mut [0; 100_000]).expect("it begins");
    stream.shutdown(Shutdown::Both).expect("ours");
    drop(stream);
    let session = server.await_session(port);
    assert_eq!((session.status, session.end), (200, SessionEnd::ClientClosed), "{session:?}");
    assert!(session.body_bytes < Bytes(900_000_000), "{session:?}");

    let log = server.file("access.log");
    assert!(log.lines().all(|line| line.contains(" status=200 body_bytes_sent=")), "{log}");
    assert_eq!(log.lines().count(), 6, "four and the two of the start: {log}");
    let family = server.family();
    assert!(!family.is_empty());
    let rest = server.stop().ended_well().records();
    assert_eq!(rest.into_iter().find_map(pick!(Session)), None, "once each");
    await_gone(family);
}

#[test]
fn nginx_serves_and_tells() {
    if installed("nginx") {
        serves("nginx");
    }
}

#[test]
fn haproxy_serves_and_tells() {
    if installed("haproxy") {
        serves("haproxy");
    }
}

#[test]
fn caddy_serves_and_tells() {
    if installed("caddy") {
        serves("caddy");
    }
}

#[test]
fn apache_serves_and_tells() {
    if installed("apache2") {
        serves("apache");
    }
}

#[test]
fn h2o_serves_and_tells() {
    if installed("h2o") {
        serves("h2o");
    }
}

#[test]
fn a_client_that_gives_up_is_499() {
    if installed("nginx") {
        let server = Server::start(&arm("nginx", json!({})), &[]);
        let mut stream = server.connect();
        let port = stream.local_addr().expect("connected").port();
        request(&mut stream, "never");
        drop(stream);
        let session = server.await_session(port);
        assert_eq!((session.status, session.end), (499, SessionEnd::ClientClosed));
        assert_eq!((session.body_bytes, session.log.uht_ms), (Bytes(0), None));
        let worker = server.ready.worker_tids[session.worker as usize];
        assert!(server.file("access.log").contains(" status=499 body_bytes_sent=0 "));
        assert!(server.file("access.log").contains(&format!(" pid={worker} port={port} ")));
    }
}

#[test]
fn threads_are_put_on_their_cpus() {
    if installed("h2o") {
        let server = Server::start(&arm("h2o", json!({})), &["--pin", "0"]);
        assert_eq!(server.ready.worker_tids.len(), 2);
        assert_eq!(server.ready.effective.cpus, [0]);
    }
}

/// Workers on CPUs, listeners by worker, buffers read back.
fn takes_its_toggles(proxy: &str) {
    let asked = json!({"reuseport": true, "workers": 3, "listen_rcvbuf": 40_960, "backlog": 77});
    let server = Server::start(&arm(proxy, asked), &["--pin", "0"]);
    let ready = &server.ready;
    assert_eq!(ready.worker_tids.len(), 3);
    assert_eq!(ready.effective.cpus, [0]);
    let mut listeners = ready.listeners.clone();
    listeners.sort_unstable();
    listeners.dedup();
    assert_eq!(listeners.len(), 3, "one each: {:?}", ready.listeners);
    let rcvbuf = ready.effective.sockets.iter().find(|s| s.name == "accepted SO_RCVBUF");
    let rcvbuf = rcvbuf.expect("it is read back");
    assert_eq!((rcvbuf.requested, rcvbuf.effective), (Some(Bytes(40_960)), Bytes(81_920)));
    let queue = net::sock_diag::SockDiag::open().expect("the kernel").listeners(server.addr());
    assert!(queue.expect("it tells").iter().all(|queue| queue.limit == 77));
    let (port, _) = server.fetch("1000");
    let session = server.await_session(port);
    assert!(session.worker < 3);
}

#[test]
fn nginx_takes_its_toggles() {
    if installed("nginx") {
        takes_its_toggles("nginx");
    }
}

#[test]
fn haproxy_takes_its_toggles() {
    if installed("haproxy") {
        takes_its_toggles("haproxy");
    }
}

#[test]
fn a_shared_listener_is_told_once() {
    if installed("nginx") {
        let server = Server::start(&arm("nginx", json!({})), &[]);
        assert_eq!(server.ready.listeners.len(), 1);
        assert_eq!(server.ready.worker_tids.len(), 2);
    }
}

/// Files of text below the directory, gone at the end.
fn serves_files(proxy: &str) {
    let asked = json!({"content": "file", "slow_size": 2 << 20, "fetch_size": 70_000});
    let mut server = Server::start(&arm(proxy, asked), &[]);
    let www = server.dir.path().join("www");
    assert!(www.exists());
    for (size, bytes) in [("2MiB", 2 << 20), ("70000", 70_000)] {
        let (port, body) = server.fetch(size);
        assert_eq!(body, bytes);
        assert_eq!(server.await_session(port).status, 200);
    }
    server.stop();
    assert!(!www.exists());
}

#[test]
fn nginx_serves_files() {
    if installed("nginx") {
        serves_files("nginx");
    }
}

#[test]
fn the_others_serve_files() {
    for (proxy, program) in [("caddy", "caddy"), ("apache", "apache2"), ("h2o", "h2o")] {
        if installed(program) {
            serves_files(proxy);
        }
    }
}
