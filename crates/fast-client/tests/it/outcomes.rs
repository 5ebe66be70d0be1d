//! Every outcome, each brought about on purpose.

use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use records::{Bytes, Outcome};
use socket2::{Domain, SockRef, Socket, Type};
use testkit::{Process, free_addr, with_open_files};

use crate::support::{CAP, Run, Server, command, ok, wait_for_end};

#[test]
fn ok_has_every_phase_in_order() {
    let (sender, ports) = mpsc::channel();
    let server = Server::start(move |mut stream| {
        use std::io::Write;
        let _ = sender.send(stream.peer_addr().expect("connected").port());
        let _ = stream.write_all(&ok(1000));
    });
    let fetch = Run::one(server.addr);
    assert_eq!((fetch.outcome, fetch.status, fetch.bytes), (Outcome::Ok, Some(200), Bytes(1000)));
    assert_eq!(fetch.client_port, ports.recv().ok(), "the port that the server saw");
    let (connect, first) =
        (fetch.connect_us.expect("connected"), fetch.first_byte_us.expect("a byte"));
    assert!(connect <= first && first <= fetch.total_us && fetch.total_us <= fetch.response_us);
    assert!(fetch.start_ns >= fetch.intended_ns);
}

#[test]
fn a_large_answer_is_read_whole() {
    let size: usize = 20 << 20;
    let server = Server::saying(ok(size));
    let args =
        ["--arrivals", "closed", "--duration", "1ms", "--fetch-size", "20MiB", "--cap", "20s"];
    let run = Run::of(server.addr, &args);
    assert_eq!(run.fetches[0].outcome, Outcome::Ok);
    assert_eq!(run.fetches[0].bytes, Bytes::mib(20));
}

#[test]
fn chunks_are_read_too() {
    let half = format!("1f4\r\n{}\r\n", "x".repeat(500));
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let fetch = Run::one(Server::saying(format!("{head}{half}{half}0\r\n\r\n")).addr);
    assert_eq!((fetch.outcome, fetch.bytes), (Outcome::Ok, Bytes(1000)));
    // All there, but not what was asked for.
    let fetch = Run::one(Server::saying(format!("{head}{half}0\r\n\r\n")).addr);
    assert_eq!((fetch.outcome, fetch.bytes), (Outcome::BadStatus, Bytes(500)));
    let fetch = Run::one(Server::saying(format!("{head}{half}")).addr);
    assert_eq!(fetch.outcome, Outcome::ClosedEarly);
    let fetch = Run::one(Server::saying(format!("{head}what?\r\n")).addr);
    assert_eq!(fetch.outcome, Outcome::BadStatus);
}

#[test]
fn timeout_connect_when_the_queue_is_full() {
    // A queue of length 0 holds one connection. With it full the kernel drops further SYNs, and
    // the handshake hangs until the client sends its SYN again, a second later.
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).expect("a free port");
    listener.listen(0).expect("bound");
    let addr = listener.local_addr().expect("bound").as_socket().expect("an IP address");
    let mut fillers = Vec::new();
    while let Ok(filler) = TcpStream::connect_timeout(&addr, Duration::from_millis(100)) {
        fillers.push(filler);
        assert!(fillers.len() < 100, "the queue never fills");
    }
    let fetch = Run::capped(addr);
    assert_eq!((fetch.outcome, fetch.connect_us), (Outcome::TimeoutConnect, None));
    assert!(fetch.client_port.is_some(), "known although the handshake never ended");
    assert!(fetch.total_us >= CAP, "at its true age");
}

#[test]
fn timeout_no_byte_when_nothing_is_answered() {
    let fetch = Run::capped(Server::start(wait_for_end).addr);
    assert_eq!((fetch.outcome, fetch.first_byte_us), (Outcome::TimeoutNoByte, None));
    assert!(fetch.connect_us.is_some() && fetch.client_port.is_some());
    assert!(fetch.total_us >= CAP && fetch.response_us >= fetch.total_us);
}

#[test]
fn timeout_partial_inside_the_body_and_inside_the_head() {
    let mut half = ok(1000);
    half.truncate(half.len() - 500);
    let fetch = Run::capped(Server::hanging_after(half).addr);
    assert_eq!((fetch.outcome, fetch.status), (Outcome::TimeoutPartial, Some(200)));
    assert_eq!(fetch.bytes, Bytes(500));
    assert!(fetch.first_byte_us.is_some() && fetch.total_us >= CAP);

    // The first byte came, and no head.
    let fetch = Run::capped(Server::hanging_after("HTTP/1.1 200 O").addr);
    assert_eq!((fetch.outcome, fetch.status), (Outcome::TimeoutPartial, None));
    assert!(fetch.first_byte_us.is_some_and(|first| first < fetch.total_us), "{fetch:?}");
}

#[test]
fn refused_when_nobody_listens() {
    let fetch = Run::one(free_addr());
    assert_eq!((fetch.outcome, fetch.connect_us), (Outcome::Refused, None));
    assert!(fetch.client_port.is_some());
}

#[test]
fn reset_before_and_inside_the_answer() {
    let resetting = |answer: &'static [u8]| {
        Server::start(move |mut stream| {
            use std::io::Write;
            stream.write_all(answer).expect("the client waits");
            SockRef::from(&stream).set_linger(Some(Duration::ZERO)).expect("settable");
        })
    };
    for answer in [b"".as_slice(), b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nxx"] {
        let fetch = Run::one(resetting(answer).addr);
        assert_eq!(fetch.outcome, Outcome::Reset, "{fetch:?}");
    }
}

#[test]
fn closed_early_before_the_end_of_the_answer() {
    for (answer, status) in [
        ("", None),
        ("HTTP/1.1 200 OK\r\nContent-Le", None),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", Some(200)),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nxxxx", Some(200)),
        // Without a length the close is the end, and it comes too soon.
        ("HTTP/1.0 200 OK\r\n\r\nxxxx", Some(200)),
    ] {
        let server = Server::start(move |mut stream| {
            use std::io::Write;
            stream.write_all(answer.as_bytes()).expect("the client waits");
            stream.shutdown(Shutdown::Write).expect("open");
            wait_for_end(stream);
        });
        let fetch = Run::one(server.addr);
        assert_eq!((fetch.outcome, fetch.status), (Outcome::ClosedEarly, status), "{answer:?}");
    }
}

#[test]
fn bad_status_for_other_answers_than_the_right_one() {
    for (answer, status) in [
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", Some(404)),
        ("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 1000\r\n\r\n", Some(502)),
        ("HTTP/1.1 206 Partial Content\r\nContent-Length: 1000\r\n\r\n", Some(206)),
        ("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n", Some(200)),
        ("SSH-2.0-OpenSSH_9.6\r\n", None),
        ("HTTP/9.9 200 OK\r\n\r\n", None),
        ("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", None),
    ] {
        let fetch = Run::one(Server::hanging_after(answer).addr);
        assert_eq!((fetch.outcome, fetch.status), (Outcome::BadStatus, status), "{answer:?}");
    }
}

#[test]
fn local_error_when_this_host_has_no_descriptor() {
    let server = Server::start(wait_for_end);
    let args = ["--arrivals", "1000/s", "--duration", "60ms", "--cap", "500ms"];
    let mut limited = with_open_files(20, &command(server.addr, &args));
    let run = Run::rest_of(Process::start(&mut limited));
    assert_eq!((run.status.code(), run.fetches.len()), (Some(0), 60));
    let count = |outcome| run.fetches.iter().filter(|fetch| fetch.outcome == outcome).count();
    assert!(count(Outcome::LocalError) > 0 && count(Outcome::TimeoutNoByte) > 0);
    assert_eq!(count(Outcome::LocalError) + count(Outcome::TimeoutNoByte), 60);
    assert_eq!(run.said.lines().count(), 1, "said once: {}", run.said);
}

#[test]
fn any_whole_answer_to_a_path_of_ones_own_is_good() {
    let own = ["--fetch-path", "/health"];
    for (answer, bytes) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 2),
        ("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 3),
        ("HTTP/1.0 200 OK\r\n\r\nuntil the close", 15),
        ("HTTP/1.1 204 No Content\r\n\r\n", 0),
    ] {
        let fetch = Run::with(Server::saying(answer).addr, &own);
        assert_eq!((fetch.outcome, fetch.bytes), (Outcome::Ok, Bytes(bytes)), "{answer:?}");
    }
    for (answer, outcome) in [
        ("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", Outcome::BadStatus),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", Outcome::ClosedEarly),
    ] {
        assert_eq!(Run::with(Server::saying(answer).addr, &own).outcome, outcome, "{answer:?}");
    }
    let head = ["--fetch-path", "HEAD /health"];
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n";
    assert_eq!(Run::with(Server::saying(answer).addr, &head).outcome, Outcome::Ok);
}

#[test]
fn a_fetch_sends_its_file() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "name=x").expect("written");
    let (tell, told) = mpsc::channel();
    let server = Server {
        addr: testkit::origin(move |mut stream, head| {
            use std::io::{Read, Write};
            let mut body = [0; 6];
            stream.read_exact(&mut body).expect("it sends all");
            tell.send((head, body)).expect("the test waits");
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").expect("it reads");
        }),
    };
    let path = file.path().display().to_string();
    let fetch = Run::with(server.addr, &["--fetch-path", "/login", "--fetch-body", &path]);
    assert_eq!(fetch.outcome, Outcome::Ok);
    let (head, body) = told.recv().expect("a request");
    assert!(head.starts_with("POST /login HTTP/1.1\r\n"), "{head}");
    assert_eq!((&body, head.contains("Content-Length: 6\r\n")), (b"name=x", true), "{head}");
}
