//! Every outcome, each brought about on purpose.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use records::{Bytes, Micros, Outcome};
use socket2::{Domain, SockRef, Socket, Type};
use testkit::{Process, free_addr, origin, with_open_files};

use crate::support::{Run, command, ok, server, wait_for_end};

/// One small fetch, which is given up after [`CAP`].
const ASKED: [&str; 4] = ["--fetch-size", "1000", "--cap", "1s"];
const CAP: Micros = Micros(1_000_000);

/// What a server does once it has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Closes,
    Hangs,
    Resets,
}

/// A server that says `answer`.
fn says(answer: &str, then: Then) -> SocketAddr {
    let answer = answer.to_owned();
    server(move |mut stream| {
        stream.write_all(answer.as_bytes()).expect("the client waits");
        match then {
            Then::Closes => stream.shutdown(Shutdown::Write).expect("open"),
            Then::Hangs => {}
            Then::Resets => {
                return SockRef::from(&stream).set_linger(Some(Duration::ZERO)).expect("settable");
            }
        }
        wait_for_end(stream);
    })
}

#[test]
fn every_answer_has_its_outcome() {
    use Outcome::{BadStatus, ClosedEarly, Ok, Reset, TimeoutPartial};
    use Then::{Closes, Hangs, Resets};
    const LENGTH: &str = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
    const CHUNKS: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let half = format!("1f4\r\n{}\r\n", "x".repeat(500));
    // An answer of 1000 bytes, by default; any whole one with 2xx to a path of one's own.
    let asked = ASKED.as_slice();
    let large = ["--fetch-size", "20MiB", "--cap", "20s"].as_slice();
    let own = ["--fetch-path", "/health"].as_slice();
    let head = ["--fetch-path", "HEAD /health"].as_slice();
    for (args, answer, then, outcome, status, bytes) in [
        (asked, format!("{CHUNKS}{half}{half}0\r\n\r\n"), Hangs, Ok, Some(200), 1000),
        (
            large,
            format!("{CHUNKS}1400000\r\n{}\r\n0\r\n\r\n", "x".repeat(20 << 20)),
            Hangs,
            Ok,
            Some(200),
            20 << 20,
        ),
        // All there, but not what was asked for.
        (asked, format!("{CHUNKS}{half}0\r\n\r\n"), Hangs, BadStatus, Some(200), 500),
        (asked, format!("{CHUNKS}what?\r\n"), Hangs, BadStatus, Some(200), 0),
        (asked, format!("{CHUNKS}{half}"), Closes, ClosedEarly, Some(200), 500),
        (asked, format!("{LENGTH}xxxx"), Closes, ClosedEarly, Some(200), 4),
        (asked, LENGTH.to_owned(), Closes, ClosedEarly, Some(200), 0),
        (asked, String::new(), Closes, ClosedEarly, None, 0),
        (asked, "HTTP/1.1 200 OK\r\nContent-Le".to_owned(), Closes, ClosedEarly, None, 0),
        // Without a length the close is the end, and it comes too soon.
        (asked, "HTTP/1.0 200 OK\r\n\r\nxxxx".to_owned(), Closes, ClosedEarly, Some(200), 4),
        (asked, String::new(), Resets, Reset, None, 0),
        (asked, format!("{LENGTH}xx"), Resets, Reset, None, 0),
        (asked, format!("{LENGTH}{half}"), Hangs, TimeoutPartial, Some(200), 507),
        // The first byte came, and no head.
        (asked, "HTTP/1.1 200 O".to_owned(), Hangs, TimeoutPartial, None, 0),
        (asked, LENGTH.replace("200 OK", "206 Part"), Hangs, BadStatus, Some(206), 0),
        (asked, LENGTH.replace("1000", "999"), Hangs, BadStatus, Some(200), 0),
        (asked, "SSH-2.0-OpenSSH_9.6\r\n".to_owned(), Hangs, BadStatus, None, 0),
        (own, LENGTH.replace("1000", "2") + "ok", Closes, Ok, Some(200), 2),
        (own, format!("{CHUNKS}3\r\nabc\r\n0\r\n\r\n"), Closes, Ok, Some(200), 3),
        (own, "HTTP/1.0 201 Made\r\n\r\nuntil the close".to_owned(), Closes, Ok, Some(201), 15),
        (own, "HTTP/1.1 204 No\r\n\r\n".to_owned(), Closes, Ok, Some(204), 0),
        (own, LENGTH.replace("200 OK", "302 Found"), Closes, BadStatus, Some(302), 0),
        (head, LENGTH.to_owned(), Closes, Ok, Some(200), 0),
    ] {
        let fetch = Run::with(says(&answer, then), args);
        assert_eq!(fetch.outcome, outcome, "{answer:.80} {fetch:?}");
        // A reset takes with it what was not read yet.
        if then != Resets {
            assert_eq!((fetch.status, fetch.bytes), (status, Bytes(bytes)), "{answer:.80}");
            assert_eq!(fetch.first_byte_us.is_some(), !answer.is_empty(), "{answer:.80}");
        }
        if outcome == TimeoutPartial {
            assert!(fetch.first_byte_us < Some(fetch.total_us) && fetch.total_us >= CAP);
        }
    }
}

#[test]
fn ok_has_every_phase_in_order() {
    let (sender, ports) = mpsc::channel();
    let server = server(move |mut stream| {
        let _ = sender.send(stream.peer_addr().expect("connected").port());
        let _ = stream.write_all(&ok(1000));
    });
    let fetch = Run::with(server, &["--fetch-size", "1000", "--cap", "30s"]);
    assert_eq!((fetch.outcome, fetch.status, fetch.bytes), (Outcome::Ok, Some(200), Bytes(1000)));
    assert_eq!(fetch.client_port, ports.recv().ok(), "the port that the server saw");
    let (connect, first) =
        (fetch.connect_us.expect("connected"), fetch.first_byte_us.expect("a byte"));
    assert!(connect <= first && first <= fetch.total_us && fetch.total_us <= fetch.response_us);
    assert!(fetch.start_ns >= fetch.intended_ns);
}

#[test]
fn without_an_answer_a_fetch_says_how_far_it_came() {
    // A queue of length 0 holds one connection. With it full the kernel drops further SYNs, and
    // the handshake hangs until the client sends its SYN again, a second later.
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).expect("a free port");
    listener.listen(0).expect("bound");
    let full = listener.local_addr().expect("bound").as_socket().expect("an IP address");
    let mut fillers = Vec::new();
    while let Ok(filler) = TcpStream::connect_timeout(&full, Duration::from_millis(100)) {
        fillers.push(filler);
        assert!(fillers.len() < 100, "the queue never fills");
    }
    for (addr, outcome, connects) in [
        (full, Outcome::TimeoutConnect, false),
        (server(wait_for_end), Outcome::TimeoutNoByte, true),
        (free_addr(), Outcome::Refused, false),
    ] {
        let fetch = Run::with(addr, &ASKED);
        assert_eq!((fetch.outcome, fetch.connect_us.is_some()), (outcome, connects));
        assert_eq!(fetch.first_byte_us, None);
        assert!(fetch.client_port.is_some(), "known although the handshake never ended");
        assert!(outcome == Outcome::Refused || fetch.total_us >= CAP, "at its true age");
        assert!(fetch.response_us >= fetch.total_us);
    }
}

#[test]
fn local_error_when_this_host_has_no_descriptor() {
    let args = ["--arrivals", "1000/s", "--duration", "60ms", "--cap", "500ms"];
    let mut limited = with_open_files(20, &command(server(wait_for_end), &args));
    let run = Run::rest_of(Process::start(&mut limited));
    assert_eq!((run.status.code(), run.fetches.len()), (Some(0), 60));
    let count = |outcome| run.fetches.iter().filter(|fetch| fetch.outcome == outcome).count();
    assert!(count(Outcome::LocalError) > 0 && count(Outcome::TimeoutNoByte) > 0);
    assert_eq!(count(Outcome::LocalError) + count(Outcome::TimeoutNoByte), 60);
    assert_eq!(run.said.lines().count(), 1, "said once: {}", run.said);
}

#[test]
fn a_fetch_sends_its_file() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "name=x").expect("written");
    let (tell, told) = mpsc::channel();
    let server = origin(move |mut stream, head| {
        let mut body = [0; 6];
        stream.read_exact(&mut body).expect("it sends all");
        tell.send((head, body)).expect("the test waits");
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").expect("it reads");
    });
    let path = file.path().display().to_string();
    let fetch = Run::with(server, &["--fetch-path", "/login", "--fetch-body", &path]);
    assert_eq!(fetch.outcome, Outcome::Ok);
    let (head, body) = told.recv().expect("a request");
    assert!(head.starts_with("POST /login HTTP/1.1\r\n"), "{head}");
    assert_eq!((&body, head.contains("Content-Length: 6\r\n")), (b"name=x", true), "{head}");
}
