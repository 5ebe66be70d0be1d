//! What is answered to which request; connections: kept, closed, reset, many, and more than there are
//! descriptors for.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use socket2::SockRef;
use testkit::{Process, open_files, until, with_open_files};

use crate::support::{Answer, Origin, command};

#[test]
fn every_byte_is_its_offset_modulo_251() {
    let origin = Origin::start();
    // Around the period, a slice (32 KiB), a writev (2 MiB), and the largest is many turns.
    for size in [0, 1, 250, 251, 252, 32_767, 32_769, 40_960, 2_097_152, 2_097_153, 33_000_001] {
        origin.get(&format!("/bytes/{size}")).assert_body(size);
    }
    origin.get("/bytes/40KiB?a=b").assert_body(40_960);
}

#[test]
fn a_head_is_the_answer_without_its_body_and_the_connection_serves_on() {
    let origin = Origin::start();
    let mut stream = origin.connect();
    for size in [0, 2 << 30] {
        let both = format!(
            "HEAD /bytes/{size} HTTP/1.1\r\nHost: o\r\n\r\nGET /bytes/7 HTTP/1.1\r\nHost: o\r\n\r\n"
        );
        stream.write_all(both.as_bytes()).expect("it reads");
        let head = Answer::read(&stream, "HEAD");
        assert_eq!((head.status, head.length), (200, size));
        Answer::read(&stream, "GET").assert_body(7);
    }
}

#[test]
fn other_paths_methods_and_sizes_are_refused() {
    let origin = Origin::start();
    for path in ["/", "/bytes", "/byte/3", "/index.html"] {
        assert_eq!(origin.get(path).status, 404, "{path}");
    }
    for size in ["", "lots", "-1", "1/2", "99999999999GiB"] {
        assert_eq!(origin.get(&format!("/bytes/{size}")).status, 400, "{size}");
    }
    for method in ["POST", "PUT", "DELETE", "BREW"] {
        let head = format!("{method} /bytes/3 HTTP/1.1\r\nHost: o\r\nContent-Length: 2\r\n\r\nab");
        let answer = origin.ask(&head);
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD")), "{method}");
    }
}

#[test]
fn a_half_closed_client_gets_its_answer() {
    let origin = Origin::start();
    let mut stream = origin.connect();
    stream.write_all(b"GET /bytes/9MiB HTTP/1.1\r\nHost: o\r\n\r\n").expect("it reads");
    stream.shutdown(Shutdown::Write).expect("open");
    Answer::read(&stream, "GET").assert_body(9 << 20);
}

#[test]
fn clients_that_go_away_leave_nothing_behind() {
    let origin = Origin::start();
    let files = open_files(origin.id());
    for linger in [Some(Duration::ZERO), None] {
        for _ in 0..20 {
            let mut stream = origin.connect();
            stream.write_all(b"GET /bytes/1GiB HTTP/1.1\r\nHost: o\r\n\r\n").expect("it reads");
            stream.read_exact(&mut [0; 100_000]).expect("the body has begun");
            // With zero the kernel resets at once; without, it resets as more data comes.
            SockRef::from(&stream).set_linger(linger).expect("settable");
        }
        // Idle ones, garbage, and half a head.
        for request in ["", "what?\r\n\r\n", "GET /bytes/1 HTT"] {
            origin.connect().write_all(request.as_bytes()).expect("it reads");
        }
    }
    origin.get("/bytes/1MiB").assert_body(1 << 20);
    until("the end of its connections", || (open_files(origin.id()) == files).then_some(()));
}

#[test]
fn without_descriptors_it_waits_and_says_so_once() {
    let mut origin = Process::start(&mut with_open_files(20, &command()));
    assert_eq!(origin.ready.effective.max_open_files, 20);
    let crowd: Vec<TcpStream> = (0..40).map(|_| origin.connect()).collect();
    let said = origin.complaint().expect("a line");
    assert!(said.contains("ulimit -n"), "{said}");
    // One that waits in the queue is served as soon as others leave.
    let mut last = origin.connect();
    last.write_all(b"GET /bytes/5 HTTP/1.0\r\n\r\n").expect("queued");
    drop(crowd);
    Answer::read(&last, "GET").assert_body(5);
    assert_eq!(origin.stop().stderr, "", "it says it once");
}
