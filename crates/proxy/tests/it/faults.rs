//! Wrong bytes and broken peers: an answer or a close, a record, and a worker that goes on.

use std::io::Write;
use std::time::Duration;

use records::SessionEnd;
use socket2::SockRef;
use testkit::{PATIENCE, body, free_addr, open_files, origin, pick};

use crate::support::{Proxy, bytes_origin, get, status};

fn still_serves(proxy: &Proxy) {
    let answer = proxy.ask(&get("/bytes/10"));
    assert_eq!((status(&answer), body(&answer).len()), (200, 10));
}

#[test]
fn no_bytes_from_a_client_stop_a_worker() {
    let proxy = Proxy::start(bytes_origin(), &["--workers", "1"]);
    let cases: [(&[u8], u16); 7] = [
        (b"\x00\x01\x02\x03\r\n\r\n", 400),
        (b"GET\r\n\r\n", 400),
        (b"GET /bytes/5 HTTP/1.1\r\n\r\n", 400),
        (b"GET /bytes/5 HTTP/9.9\r\nHost: a\r\n\r\n", 505),
        (b"POST /bytes/5 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx", 413),
        (
            b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            400,
        ),
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
fn broken_origins_are_told_apart() {
    type Serve = fn(std::net::TcpStream);
    let cases: [(&str, Serve, u16, SessionEnd); 5] = [
        ("closes at once", drop, 502, SessionEnd::UpstreamClosedEarly),
        (
            "closes inside its head",
            |mut s| s.write_all(b"HTTP/1.1 200 OK\r\nContent-Le").expect("sent"),
            502,
            SessionEnd::UpstreamClosedEarly,
        ),
        (
            "is not HTTP",
            |mut s| s.write_all(b"220 smtp ready\r\n\r\n").expect("sent"),
            502,
            SessionEnd::UpstreamBadHead,
        ),
        (
            "sends too little",
            |mut s| s.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1").expect("sent"),
            200,
            SessionEnd::UpstreamClosedEarly,
        ),
        (
            "sends too much",
            |mut s| s.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n123").expect("sent"),
            200,
            SessionEnd::Completed,
        ),
    ];
    for (name, serve, expected, end) in cases {
        let proxy = Proxy::start(origin(move |stream, _| serve(stream)), &[]);
        assert_eq!(status(&proxy.ask(&get("/"))), expected, "{name}");
        let session = proxy.await_session();
        assert_eq!((session.status, session.end), (expected, end), "{name}");
    }
}

#[test]
fn an_absent_origin_is_502_and_a_silent_one_504() {
    let proxy = Proxy::start(free_addr(), &[]);
    assert_eq!(status(&proxy.ask(&get("/"))), 502);
    assert_eq!(proxy.await_session().end, SessionEnd::UpstreamUnreachable);

    let silent = origin(|stream, _| {
        std::thread::park_timeout(PATIENCE);
        drop(stream);
    });
    let proxy = Proxy::start(silent, &["--upstream-timeout", "200ms"]);
    assert_eq!(status(&proxy.ask(&get("/"))), 504);
    assert_eq!(proxy.await_session().end, SessionEnd::UpstreamTimeout);
}

#[test]
fn a_head_that_never_ends_is_408() {
    let proxy = Proxy::start(bytes_origin(), &["--header-timeout", "200ms"]);
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
