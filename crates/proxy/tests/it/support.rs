//! A proxy process, what is asked of it, and an origin of bytes.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::ops::Deref;
use std::process::Command;

use records::{Record, Session};
use testkit::{Process, connect, origin, pick};

/// A proxy that is up.
pub(crate) struct Proxy(Process);

impl Proxy {
    /// A proxy before `upstream`, with more arguments.
    pub(crate) fn start(upstream: SocketAddr, args: &[&str]) -> Self {
        Self(Process::start(&mut command(upstream, args)))
    }

    pub(crate) fn ask(&self, request: &[u8]) -> Vec<u8> {
        ask(self.addr(), request)
    }

    /// The next session that ends.
    pub(crate) fn await_session(&self) -> Session {
        self.await_record("a session", pick!(Session))
    }

    /// Waits until it has accepted one more connection, and says which worker did.
    pub(crate) fn await_accept(&self) -> u32 {
        self.await_record("a connection accepted", pick!(Accepted)).worker
    }

    /// Asks it to end, which it does well; returns what it said that nobody had taken.
    pub(crate) fn stop(mut self) -> Vec<Record> {
        self.0.stop().ended_well().records()
    }
}

impl Deref for Proxy {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.0
    }
}

/// Sends `request` and reads to the end; a reset ends it as well, and a close before the request.
pub(crate) fn ask(addr: SocketAddr, request: &[u8]) -> Vec<u8> {
    let mut stream = connect(addr);
    let mut answer = Vec::new();
    let _ = stream.write_all(request).and_then(|()| stream.read_to_end(&mut answer));
    answer
}

pub(crate) fn command(upstream: SocketAddr, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proxy"));
    command.args(["--upstream", &upstream.to_string()]).args(args);
    command
}

/// An origin that answers `GET /bytes/<n>` with n bytes, byte i being i mod 251.
pub(crate) fn bytes_origin() -> SocketAddr {
    origin(|mut stream, request| {
        let size = request.split(['/', ' ']).nth(3).and_then(|n| n.parse().ok()).unwrap_or(0);
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n");
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&pattern(size)));
    })
}

/// Memory that a process has, resident.
pub(crate) fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("ours");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a resident size");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("KiB")
}

pub(crate) fn pattern(size: usize) -> Vec<u8> {
    (0..=250u8).cycle().take(size).collect()
}

pub(crate) fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: turnstile\r\n\r\n").into_bytes()
}

pub(crate) fn status(answer: &[u8]) -> u16 {
    let text = String::from_utf8_lossy(answer);
    text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}
