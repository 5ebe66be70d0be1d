//! The process: its first line, its end, what it says to wrong options; what it tells of each request, and
//! that nobody has to listen.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::time::Duration;

use records::{Answered, Bytes, Role, SCHEMA_VERSION};
use socket2::SockRef;
use testkit::{Signal, pick, say};

use crate::application::settle;
use crate::support::{Answer, Origin, command};

const DELAY: Duration = Duration::from_millis(100);

pub(crate) fn next(origin: &Origin) -> Answered {
    origin.await_record("a request's record", pick!(Answered))
}

#[test]
fn every_request_is_told_of_by_the_port_that_asked() {
    let origin = Origin::start();
    let mut stream = origin.connect();
    let port = stream.local_addr().expect("connected").port();
    let mut before = None;
    // A refusal is an answer as well.
    for (method, path) in [("GET", "/bytes/40960"), ("HEAD", "/bytes/9"), ("GET", "/nothing")] {
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: o\r\n\r\n").expect("kept");
        Answer::read(&stream, method);
        let told = next(&origin);
        assert_eq!(told.upstream_port, port);
        assert!(Some(told.request_ns) > before, "{told:?} after {before:?}");
        assert!(told.head_ns >= Some(told.request_ns), "{told:?}");
        before = told.head_ns;
    }
}

#[test]
fn a_delay_is_between_a_request_and_its_answer() {
    let origin = Origin::with(&["--delay", "100ms"]);
    let asked = net::clock::now();
    origin.get("/bytes/7").assert_body(7);
    let answered = net::clock::now();
    let told = next(&origin);
    let head_ns = told.head_ns.expect("it was answered");
    assert!(asked < told.request_ns && head_ns < answered, "{told:?}");
    assert!(head_ns.since(told.request_ns) >= DELAY, "{told:?}");
}

/// One has gone, the other is there; the origin delays both answers until it is told to stop.
#[test]
fn requests_that_are_never_answered_are_told_of_as_well() {
    let mut origin = Origin::with(&["--delay", "1m"]);
    let mut streams = [origin.connect(), origin.connect()];
    let ports = streams.each_ref().map(|stream| stream.local_addr().expect("connected").port());
    for stream in &mut streams {
        stream.write_all(b"GET /bytes/3 HTTP/1.1\r\nHost: o\r\n\r\n").expect("it reads");
    }
    settle(&origin);
    let [gone, _there] = streams;
    SockRef::from(&gone).set_linger(Some(Duration::ZERO)).expect("settable");
    drop(gone);
    let said = origin.0.stop().ended_well().records();
    let told = said.into_iter().filter_map(pick!(Answered));
    let told: BTreeMap<_, _> = told.map(|told| (told.upstream_port, told.head_ns)).collect();
    assert_eq!(told, ports.map(|port| (port, None)).into());
}

#[test]
fn a_reader_that_has_gone_misses_nothing() {
    let mut origin = Origin::start();
    origin.0.hear_no_more();
    let mut stream = origin.connect();
    for _ in 0..100 {
        write!(stream, "HEAD /bytes/0 HTTP/1.1\r\nHost: o\r\n\r\n").expect("kept");
        Answer::read(&stream, "HEAD");
    }
    assert_eq!(origin.0.stop().ended_well().stderr, "");
}

#[test]
fn the_first_line_tells_where_it_listens_and_what_the_kernel_made_of_it() {
    let origin = Origin::start();
    let ready = &origin.ready;
    assert_eq!((ready.role, ready.schema_version), (Role::Origin, SCHEMA_VERSION));
    assert_eq!(ready.pid, origin.id());
    assert!(origin.addr().ip().is_loopback(), "loopback unless told otherwise");
    assert!(!ready.effective.cpus.is_empty());
    let sndbuf = ready.effective.sockets.iter().find(|s| s.name == "accepted SO_SNDBUF");
    let sndbuf = sndbuf.expect("read back");
    // socket(7): the kernel doubles it; what is not asked for it chooses itself.
    assert!(sndbuf.requested.is_none_or(|asked| sndbuf.effective >= asked), "{sndbuf:?}");
    assert!(sndbuf.effective > Bytes(0));
}

#[test]
fn a_signal_ends_it_well_also_inside_a_download() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut origin = Origin::start();
        let mut stream = origin.connect();
        stream.write_all(b"GET /bytes/1TiB HTTP/1.0\r\n\r\n").expect("it reads");
        stream.read_exact(&mut [0; 4096]).expect("the body has begun");
        let said = origin.0.end(signal).ended_well().stdout;
        assert_eq!(said.lines().count(), 1, "of one request: {said}");
    }
}

#[test]
fn a_busy_port_is_told_with_what_to_do() {
    let origin = Origin::start();
    let addr = origin.addr().to_string();
    let said = say(command().args(["--listen", &addr])).refused(1);
    assert!(said.contains(&addr) && said.contains("another port"), "{said}");
}

#[test]
fn wrong_options_are_usage_errors() {
    for (option, value) in [
        ("--listen", "nowhere"),
        ("--cpus", "a"),
        ("--delay", "61s"),
        ("--delay-after", "2h"),
        ("--workers", "0"),
    ] {
        let said = say(command().args([option, value])).refused(2);
        assert!(said.contains(value) && said.contains(option), "{said}");
    }
}
