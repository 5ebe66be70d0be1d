//! `--gzip`: who asks for it gets a gzip stream in chunks, made by the worker step by step.

use std::io::{Read, Write};

use flate2::read::GzDecoder;
use records::SessionEnd;
use testkit::{body, origin, pick};

use crate::support::{Proxy, bytes_origin, get, pattern, resident_kib, status};

fn get_gzip(size: usize) -> Vec<u8> {
    format!("GET /bytes/{size} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n").into_bytes()
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
fn who_asks_for_it_gets_every_byte_compressed() {
    for (level, policy) in [("1", "drain"), ("6", "fionread"), ("9", "bytes:64KiB")] {
        let args = ["--gzip", level, "--read-policy", policy];
        let proxy = Proxy::start(bytes_origin(), &args);
        for size in [20, 4096, 3_000_000] {
            let answer = proxy.ask(&get_gzip(size));
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

#[test]
fn who_does_not_ask_or_gains_nothing_gets_the_answer_as_it_came() {
    let proxy = Proxy::start(bytes_origin(), &["--gzip", "6"]);
    for request in [
        get("/bytes/100000"),
        b"GET /bytes/100000 HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n".to_vec(),
        get_gzip(19),
    ] {
        let answer = proxy.ask(&request);
        assert_eq!(status(&answer), 200);
        assert!(pattern(100_000).starts_with(body(&answer)) && body(&answer).len() >= 19);
    }
    let off = Proxy::start(bytes_origin(), &[]);
    assert!(body(&off.ask(&get_gzip(3000))) == pattern(3000));
}

#[test]
fn a_step_goes_on_as_long_as_the_upstream_has_something() {
    const SIZE: usize = 64 << 20;
    let proxy = Proxy::start(bytes_origin(), &["--workers", "1", "--gzip", "6"]);
    proxy.ask(&get_gzip(10_000));
    let before = resident_kib(proxy.id());
    let mut client = proxy.connect();
    client.write_all(&get_gzip(SIZE)).expect("the proxy reads");
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).expect("the whole answer");
    let grown = resident_kib(proxy.id()).saturating_sub(before);
    assert!(grown < 4 << 10, "{grown} KiB for one session");
    assert!(gunzipped(&answer) == pattern(SIZE));
    let totals = proxy.stop().into_iter().rev().find_map(pick!(WorkerTotals));
    let longest = totals.expect("its totals").longest_step_bytes.0;
    println!("the longest step took {longest} of {SIZE} bytes");
    assert!(longest > 1 << 20, "compressing is slower than the origin: {longest} bytes");
}

/// A slow client, a spool before the compressor, and both limits in play.
#[test]
fn what_was_spooled_is_compressed_on_its_way_out() {
    let dir = tempfile::tempdir().expect("a folder");
    let spool = dir.path().to_str().expect("a path");
    // Noise: its compressed form fills the sockets.
    let noise: Vec<u8> = {
        let mut rng: rand::rngs::ChaCha8Rng = rand::SeedableRng::seed_from_u64(1);
        (0..16 << 20).map(|_| rand::RngExt::random(&mut rng)).collect()
    };
    let sent = noise.clone();
    let upstream = origin(move |mut stream, _| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", sent.len());
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&sent));
    });
    let mut args = vec!["--workers", "1", "--gzip", "1", "--buffering", "on"];
    args.extend(["--spool", spool, "--spool-max", "3MiB"]);
    let proxy = Proxy::start(upstream, &args);
    let mut client = proxy.connect();
    client.write_all(&get_gzip(1)).expect("the proxy reads");
    let mut answer = vec![0; 1000];
    client.read_exact(&mut answer).expect("a first piece");
    client.read_to_end(&mut answer).expect("the whole answer");
    assert!(gunzipped(&answer) == noise);
}
