//! A running origin and a plain client for it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::ops::Deref;
use std::process::Command;

use testkit::{Process, read_head};

pub(crate) fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_origin"))
}

/// An origin that is up.
pub(crate) struct Origin(pub(crate) Process);

impl Origin {
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    pub(crate) fn with(options: &[&str]) -> Self {
        Self(Process::start(command().args(options)))
    }

    /// Sends `request` over a new connection and reads the answer to it.
    pub(crate) fn ask(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).expect("it reads");
        Answer::read(&stream, "GET")
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: o\r\n\r\n"))
    }
}

impl Deref for Origin {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.0
    }
}

/// A head and the body that its Content-Length promised.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) length: u64,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn read(mut stream: &TcpStream, method: &str) -> Self {
        let head = read_head(stream);
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status");
        let mut answer = Self { status, head, length: 0, body: Vec::new() };
        answer.length =
            answer.header("content-length").and_then(|v| v.parse().ok()).expect("a length");
        if method != "HEAD" {
            answer.body = vec![0; usize::try_from(answer.length).expect("a size")];
            stream.read_exact(&mut answer.body).expect("the body is as long as promised");
        }
        answer
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    /// Asserts that every byte is what the rule says.
    pub(crate) fn assert_body(&self, size: u64) {
        assert_eq!((self.status, self.body.len() as u64), (200, size), "{}", self.head);
        let wrong = self.body.iter().enumerate().find(|(i, byte)| usize::from(**byte) != i % 251);
        assert_eq!(wrong, None, "(offset, byte) in a body of {size}");
    }
}
