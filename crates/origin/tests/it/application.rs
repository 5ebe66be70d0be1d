//! Delays and few workers: who is answered, and in which order. Nothing here looks at a clock but
//! the test of what happens side by side.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::process::next;
use crate::support::{Answer, Origin};

/// A body that no socket buffer holds.
const ENDLESS: &str = "1TiB";

/// Asks for `size` bytes over a connection of its own, and returns when the origin has seen that.
fn ask(origin: &Origin, size: &str) -> TcpStream {
    let mut stream = origin.connect();
    write!(stream, "GET /bytes/{size} HTTP/1.1\r\nHost: o\r\n\r\n").expect("it reads");
    settle(origin);
    stream
}

/// Returns when the origin has seen all that was sent to it before: it has one thread, and what is
/// no request is answered without the application.
pub(crate) fn settle(origin: &Origin) {
    let mut stream = origin.connect();
    stream.write_all(b"what?\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer and a close");
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
}

/// Whether the origin has sent something that nobody has read.
fn is_answered(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).expect("settable");
    let peeked = stream.peek(&mut [0]);
    stream.set_nonblocking(false).expect("settable");
    match peeked {
        Ok(length) => length > 0,
        Err(error) if error.kind() == ErrorKind::WouldBlock => false,
        Err(error) => panic!("{error}"),
    }
}

/// Waits for the first byte of an answer, and takes no more.
fn await_answer(stream: &TcpStream) {
    assert_eq!(stream.peek(&mut [0]).expect("an answer"), 1);
}

#[test]
fn one_worker_is_busy_until_its_body_is_handed_over() {
    let origin = Origin::with(&["--workers", "1"]);
    // Of the second all that is left is on its way at once, but the kernel takes no more.
    for size in [ENDLESS, "500MiB"] {
        // Nobody reads it.
        let first = ask(&origin, size);
        await_answer(&first);
        let second = ask(&origin, "3");
        assert!(!is_answered(&second), "the only worker is busy with {size}");
        drop(first);
        Answer::read(&second, "GET").assert_body(3);
        let (at_once, waited) = (next(&origin), next(&origin));
        assert_eq!(at_once.queued_until_ns, None, "a worker was free");
        let until = waited.queued_until_ns.expect("none was free");
        assert!(until >= waited.request_ns && waited.head_ns >= Some(until), "{waited:?}");
    }
}

#[test]
fn a_worker_whose_body_is_handed_over_is_free_though_the_connection_stays() {
    let origin = Origin::with(&["--workers", "1"]);
    let mut kept = origin.connect();
    // Nothing is sent of a body that is empty, or that a HEAD leaves out.
    for (method, size) in [("GET", 40_960), ("GET", 0), ("HEAD", 1 << 40), ("GET", 9 << 20)] {
        write!(kept, "{method} /bytes/{size} HTTP/1.1\r\nHost: o\r\n\r\n").expect("kept");
        assert_eq!(Answer::read(&kept, method).length, size);
        origin.get("/bytes/5").assert_body(5);
    }
    for path in ["/nothing", "/bytes/many"] {
        assert!(origin.get(path).status >= 400, "{path}");
        origin.get("/bytes/5").assert_body(5);
    }
}

#[test]
fn those_who_wait_are_answered_in_the_order_they_came() {
    let origin = Origin::with(&["--workers", "1"]);
    let mut queue: Vec<TcpStream> = (0..5).map(|_| ask(&origin, ENDLESS)).collect();
    while !queue.is_empty() {
        await_answer(&queue[0]);
        settle(&origin);
        let answered = queue.iter().filter(|stream| is_answered(stream)).count();
        assert_eq!(answered, 1, "of {} that are left", queue.len());
        // The worker learns that its client has gone, and takes the next.
        queue.remove(0);
    }
}

#[test]
fn as_many_are_answered_as_there_are_workers() {
    let origin = Origin::with(&["--workers", "3"]);
    let crowd: Vec<TcpStream> = (0..8).map(|_| ask(&origin, ENDLESS)).collect();
    let answered: Vec<bool> = crowd.iter().map(is_answered).collect();
    assert_eq!(answered, [true, true, true, false, false, false, false, false]);
}

#[test]
fn one_that_leaves_the_queue_is_not_waited_for() {
    let origin = Origin::with(&["--workers", "1"]);
    let first = ask(&origin, ENDLESS);
    let second = ask(&origin, ENDLESS);
    let third = ask(&origin, "3");
    // A reset: with nothing to read, a close would be a half-close only, and answered.
    socket2::SockRef::from(&second).set_linger(Some(Duration::ZERO)).expect("settable");
    drop(second);
    drop(first);
    Answer::read(&third, "GET").assert_body(3);
}

#[test]
fn it_delays_every_head_of_the_application_once_its_delays_begin() {
    for (options, delayed) in [
        (&["--delay", "1m"][..], true),
        // By the names that these options had.
        (&["--think", "1m", "--think-after", "1h"], false),
    ] {
        let origin = Origin::with(options);
        let waiting = ["3", "many", "0"].map(|size| ask(&origin, size));
        if delayed {
            assert!(!waiting.iter().any(is_answered), "they come in a minute");
        } else {
            waiting.iter().for_each(await_answer);
        }
    }
}

#[test]
fn delays_go_side_by_side_and_a_worker_works_on_one_request_at_a_time() {
    for (options, requests, least, most) in [
        // One after the other: 20 s.
        (&["--delay", "500ms"][..], 40, 500, 10_000),
        // Five rounds of two.
        (&["--delay", "100ms", "--workers", "2"], 10, 500, 60_000),
    ] {
        let origin = Origin::with(options);
        let start = Instant::now();
        let crowd: Vec<TcpStream> = (0..requests).map(|_| ask(&origin, "7")).collect();
        for stream in crowd {
            Answer::read(&stream, "GET").assert_body(7);
        }
        let took = start.elapsed().as_millis();
        assert!((least..most).contains(&took), "{options:?}: {took} ms");
    }
}
