//! How downloads end, and what follows.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Mutex;
use std::sync::mpsc::channel;

use records::{Download, DownloadEnd, Record};
use testkit::{Signal, free_addr, serve};

use crate::support::{Slow, answer, command, endless, request, reset, server, whole};

/// More than a read takes, and no round number.
const SIZE: usize = (3 << 20) + 1;

#[test]
fn whole_downloads_follow_each_other_from_the_same_port() {
    // Another test's connection may be in TIME_WAIT on the port that this one was given: then it can
    // not be bound again, and the client is right to take another.
    let from_one_port = (0..5).any(|_| {
        let ports = ports_of_whole_downloads();
        ports.iter().all(|port| *port == ports[0])
    });
    assert!(from_one_port, "the same listener should get them");
}

/// The ports of a connection and of the three downloads from it on.
fn ports_of_whole_downloads() -> Vec<u16> {
    let (lines, asked) = channel();
    let addr = server(move |_, stream| {
        let line = request(stream)?;
        let _ = lines.send(line);
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n")?;
        stream.write_all(&vec![b'x'; SIZE])
    });
    let mut slow = Slow::start(addr, &format!("--slow 1 --slow-size {SIZE}"));
    let mut ports = vec![slow.dialed().client_port];
    let mut last_end = 0;
    for ordinal in 0..3 {
        let download = slow.download();
        assert_eq!((download.slot, download.ordinal), (0, ordinal));
        assert_eq!(download.end, DownloadEnd::Completed);
        assert_eq!(download.bytes.0, SIZE as u64);
        ports.push(download.client_port.expect("it was connected"));
        assert!(download.first_byte_us.expect("it had an answer") <= download.total_us);
        assert!(download.start_ns.0 >= last_end, "one connection at a time");
        last_end = download.start_ns.0 + download.total_us.0 * 1000;
        assert_eq!(asked.recv().expect("a request"), format!("GET /bytes/{SIZE} HTTP/1.1"));
    }
    let ended = slow.stop();
    let (by_download, by_interval) = ended.bytes(0);
    assert!(by_download >= 3 * SIZE as u64);
    assert_eq!(by_download, by_interval);
    ports
}

/// What a server does once it has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Closes,
    Resets,
    /// It waits until the client hangs up.
    Stays,
}

/// How downloads end, and with how many bytes, whose answers are these, one a connection. What is short
/// comes byte by byte.
fn played(args: &str, cases: &[(String, Then, DownloadEnd, u64)]) -> Vec<Download> {
    let answers: Vec<_> = cases.iter().map(|(answer, then, ..)| (answer.clone(), *then)).collect();
    let (seen, taken) = channel();
    let taken = Mutex::new(taken);
    let addr = server(move |number, stream| {
        request(stream)?;
        stream.set_nodelay(true)?;
        let (answer, then) = &answers[number % answers.len()];
        let piece = if answer.len() < 300 { 1 } else { answer.len() };
        answer.as_bytes().chunks(piece).try_for_each(|piece| stream.write_all(piece))?;
        match then {
            Then::Closes => Ok(()),
            Then::Stays => request(stream).map(drop),
            Then::Resets => {
                // Only once the client has what was sent: a reset takes that with it.
                let _ = taken.lock().expect("one server").recv();
                reset(stream)
            }
        }
    });
    let mut slow = Slow::start(addr, &format!("--slow 1 --interval 5ms {args}"));
    let mut ends = Vec::new();
    for (answer, then, end, bytes) in cases {
        if *then == Then::Resets {
            let mut came = 0;
            while came < *bytes {
                came += slow.interval().bytes[0].0;
            }
            seen.send(()).expect("the server waits");
        }
        let download = slow.download();
        assert_eq!((download.end, download.bytes.0), (*end, *bytes), "{answer:.80}");
        if *end == DownloadEnd::ClosedEarly {
            assert_eq!(download.first_byte_us.is_some(), !answer.is_empty(), "{answer:?}");
        }
        ends.push(download);
    }
    slow.stop();
    ends
}

const OK: &str = "HTTP/1.1 200 OK\r\n";

#[test]
fn whole_answers_are_counted_however_they_are_framed_and_taken() {
    use DownloadEnd::Completed;
    use Then::{Closes, Stays};
    let body = "x".repeat(SIZE);
    let mut chunks = String::new();
    for piece in body.as_bytes().chunks(70_001) {
        chunks += &format!("{:x};x=y\r\n{}\r\n", piece.len(), "x".repeat(piece.len()));
    }
    let size = SIZE as u64;
    let cases = [
        (format!("{OK}Content-Length: {SIZE}\r\n\r\n{body}"), Closes, Completed, size),
        (format!("{OK}\r\n{body}"), Closes, Completed, size),
        (
            format!("{OK}Transfer-Encoding: chunked\r\n\r\n{chunks}0\r\nX: y\r\n\r\n"),
            Closes,
            Completed,
            size,
        ),
    ];
    played(&format!("--slow-size {SIZE}"), &cases);
    let early =
        format!("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n{OK}Content-Length: 5\r\n\r\n12345");
    let coded = "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n";
    let cases = [
        (early, Closes, Completed, 5),
        // As long as it is.
        (format!("{OK}{coded}"), Stays, Completed, 2),
        (format!("{OK}Content-Length: 100\r\n\r\n{}", "x".repeat(100)), Stays, Completed, 100),
    ];
    let ends = played("--slow-size 100 --slow-header Accept-Encoding:gzip", &cases);
    assert!((0..).zip(&ends).all(|(ordinal, download)| download.ordinal == ordinal));
}

#[test]
fn what_is_not_the_answer_is_told_with_what_came_and_is_not_asked_for_at_full_speed() {
    use DownloadEnd::{BadStatus, ClosedEarly, Reset};
    use Then::{Closes, Resets};
    const PART: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\npart";
    const CHUNKS: &str = "Transfer-Encoding: chunked\r\n\r\n";
    let longer = "x".repeat(5001);
    let cases = [
        (String::new(), Closes, ClosedEarly, 0),
        (format!("{OK}Conte"), Closes, ClosedEarly, 0),
        (String::new(), Resets, Reset, 0),
        // No interval after the one before has bytes of that one.
        (PART.to_owned(), Resets, Reset, 4),
        (format!("{OK}\r\npart"), Closes, ClosedEarly, 4),
        (format!("{OK}{CHUNKS}4\r\nabcd\r\n9\r\nef"), Closes, ClosedEarly, 6),
        ("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 2\r\n\r\nno".into(), Closes, BadStatus, 0),
        ("SSH-2.0-x\r\n".into(), Closes, BadStatus, 0),
        ("\n".repeat(9000), Closes, BadStatus, 0),
        (PART.to_owned(), Closes, ClosedEarly, 4),
        // From here on each is waited for longer than the one before.
        (format!("{OK}{CHUNKS}no such size\r\n"), Closes, BadStatus, 0),
        (format!("{OK}Content-Length: 64\r\n\r\n"), Closes, BadStatus, 0),
        (format!("{OK}{CHUNKS}2\r\nno\r\n0\r\n\r\n"), Closes, BadStatus, 2),
        (format!("{OK}\r\n{longer}"), Closes, BadStatus, 5001),
    ];
    let ends = played("--slow-size 5000", &cases);
    let gap = |pair: &[Download]| pair[1].start_ns.0 - pair[0].start_ns.0;
    let gaps: Vec<u64> = ends[10..].windows(2).map(gap).collect();
    for (gap, least) in gaps.iter().zip([50_000_000, 100_000_000, 200_000_000]) {
        assert!(*gap >= least, "each wait is longer: {gaps:?}");
    }
}

#[test]
fn a_trickle_is_seen_and_ends_without_a_close() {
    let (go_on, gate) = channel();
    let gate = Mutex::new(gate);
    let addr = server(move |_, stream| {
        answer(stream, "Content-Length: 60\r\n", b"")?;
        for part in [10, 20, 30] {
            let _ = gate.lock().expect("one server").recv();
            stream.write_all(&vec![b'x'; part])?;
        }
        // Until the client hangs up.
        request(stream).map(drop)
    });
    let mut slow = Slow::start(addr, "--slow 1 --slow-size 60 --interval 10ms");
    slow.dialed();
    for expected in [10, 20] {
        // What came before was seen, though it is far below what is worth waking for.
        go_on.send(()).expect("the server waits");
        let mut bytes = 0;
        while bytes < expected {
            bytes += slow.interval().bytes[0].0;
        }
        assert_eq!(bytes, expected);
    }
    go_on.send(()).expect("the server waits");
    let download = slow.download();
    assert_eq!((download.end, download.bytes.0), (DownloadEnd::Completed, 60));
    // The next connection gets the rest of it at once.
    drop(go_on);
    slow.stop();
}

#[test]
fn it_dials_until_the_target_is_back() {
    let addr = free_addr();
    let mut slow = Slow::start(addr, "--slow 1 --slow-size 100");
    let refused: Vec<_> = (0..3).map(|_| slow.download()).collect();
    assert!(refused.iter().all(|download| download.end == DownloadEnd::Refused));
    let listener = TcpListener::bind(addr).expect("the port is still free");
    serve(listener, |_, mut stream| drop(whole(&mut stream, 100)));
    while slow.download().end != DownloadEnd::Completed {}
    slow.stop();
}

#[test]
fn without_descriptors_it_is_this_host_that_failed_and_it_goes_on_when_there_are_some() {
    let addr = server(|_, stream| whole(stream, 100));
    let mut slow = Slow::start(addr, "--slow 1 --slow-size 100");
    while slow.download().end != DownloadEnd::Completed {}
    // What is open stays open; nothing new is.
    let usual = slow.limit_files(Some(3));
    let starved = loop {
        let download = slow.download();
        if download.end != DownloadEnd::Completed {
            break download;
        }
    };
    assert_eq!((starved.end, starved.client_port), (DownloadEnd::LocalError, None));
    assert_eq!(slow.download().end, DownloadEnd::LocalError);
    slow.limit_files(usual);
    while slow.download().end != DownloadEnd::Completed {}
    let ended = slow.stop();
    assert_eq!(ended.code, Some(0));
    assert_eq!(ended.stderr.lines().count(), 1, "said once: {}", ended.stderr);
    assert!(ended.stderr.contains("ulimit -n"), "{}", ended.stderr);
}

#[test]
fn a_stop_ends_every_download_once_and_tells_the_last_interval() {
    for signal in [Signal::TERM, Signal::INT] {
        let addr = server(|_, stream| endless(stream));
        let mut slow = Slow::start(addr, "--slow 3 --interval 50ms");
        slow.moving();
        slow.process.signal(signal);
        let ended = slow.ended();
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        let stopped = ended.downloads(DownloadEnd::Stopped);
        let mut slots: Vec<u32> = stopped.iter().map(|download| download.slot).collect();
        slots.sort_unstable();
        assert_eq!(slots, [0, 1, 2]);
        assert!(matches!(ended.records.last(), Some(Record::DownloadInterval(_))));
        for slot in slots {
            let (by_download, by_interval) = ended.bytes(slot);
            assert!(by_download > 0);
            assert_eq!(by_download, by_interval);
        }
    }
}

#[test]
fn requests_of_ones_own_follow_each_other_whatever_their_answers_are() {
    for (head, body) in [
        ("200 OK\r\nContent-Length: 3\r\n", "abc"),
        ("200 OK\r\nTransfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n"),
        ("201 Created\r\n", "until the close"),
        ("204 No Content\r\n", ""),
    ] {
        let (lines, asked) = channel();
        let addr = server(move |_, stream| {
            let _ = lines.send(request(stream)?);
            write!(stream, "HTTP/1.1 {head}\r\n{body}")
        });
        let mut slow = Slow::start(addr, "--slow 1 --slow-path /export?rows=9");
        for ordinal in 0..2 {
            let download = slow.download();
            assert_eq!((download.end, download.ordinal), (DownloadEnd::Completed, ordinal));
            assert!(download.bytes.0 > 0, "an answer without a body has moved: {head}");
            assert_eq!(asked.recv().expect("a request"), "GET /export?rows=9 HTTP/1.1");
        }
        slow.stop();
    }
}

#[test]
fn an_upload_is_sent_whole_and_counted() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), vec![b'x'; SIZE]).expect("written");
    let addr = server(|number, stream| {
        let line = request(stream)?;
        if number == 1 {
            // Answered before it was read.
            return write!(stream, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
        }
        let mut body = vec![0; SIZE];
        stream.read_exact(&mut body)?;
        assert_eq!(
            (line.as_str(), body.iter().all(|byte| *byte == b'x')),
            ("PUT /up HTTP/1.1", true)
        );
        write!(stream, "HTTP/1.1 204 No Content\r\n\r\n")
    });
    let path = file.path().to_str().expect("a path");
    let mut command = command(&format!("{addr} --slow 1 --slow-body {path} --slow-path"));
    let mut slow = Slow::of(command.arg("PUT /up"));
    let download = slow.download();
    assert_eq!(download.end, DownloadEnd::Completed, "{download:?}");
    assert!(download.bytes.0 >= SIZE as u64, "{download:?}");
    let refused = slow.download();
    // The rest of it may meet the end of the connection before its answer is read.
    assert!([DownloadEnd::BadStatus, DownloadEnd::Reset].contains(&refused.end), "{refused:?}");
    assert_eq!(slow.download().end, DownloadEnd::Completed);
    slow.stop();
}
