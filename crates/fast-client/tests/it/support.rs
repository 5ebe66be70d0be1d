//! Servers with one habit each, and a fast client run to its end against them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, ExitStatus};

use records::{Fetch, Outcome, Ready, Record};
use testkit::Process;

/// A server that gives every connection, its request read, to `answer` on a thread of its own.
pub(crate) fn server(answer: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    testkit::origin(move |stream, _| answer(stream))
}

/// One that says `answer` to every request and then nothing, with the connection open.
pub(crate) fn saying(answer: impl Into<Vec<u8>>) -> SocketAddr {
    let answer = answer.into();
    server(move |mut stream| {
        // A client that gave up may be gone.
        let _ = stream.write_all(&answer);
        wait_for_end(stream);
    })
}

/// A whole and right answer of `size` bytes.
pub(crate) fn ok(size: usize) -> Vec<u8> {
    let mut answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n").into_bytes();
    answer.resize(answer.len() + size, b'x');
    answer
}

/// Blocks until the client hangs up.
pub(crate) fn wait_for_end(mut stream: TcpStream) {
    let _ = stream.read(&mut [0; 64]);
}

pub(crate) fn command(addr: SocketAddr, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fast-client"));
    command.arg(addr.to_string()).args(args);
    command
}

/// What a run left.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) ready: Ready,
    pub(crate) fetches: Vec<Fetch>,
    pub(crate) status: ExitStatus,
    pub(crate) said: String,
}

impl Run {
    /// Runs a client to its end; it must end well.
    pub(crate) fn of(addr: SocketAddr, args: &[&str]) -> Self {
        let run = Self::rest_of(Process::start(&mut command(addr, args)));
        assert_eq!(run.status.code(), Some(0), "{}", run.said);
        run
    }

    /// Waits for the end of a client that runs.
    pub(crate) fn rest_of(mut client: Process) -> Self {
        let said = client.finish();
        let fetches = said.records().into_iter().map(fetch).collect();
        Self { ready: client.ready.clone(), fetches, status: said.status, said: said.stderr }
    }

    /// One fetch with these options.
    pub(crate) fn with(addr: SocketAddr, more: &[&str]) -> Fetch {
        let args = [&["--arrivals", "1/s", "--duration", "1ms"], more].concat();
        let mut fetches = Self::of(addr, &args).fetches;
        assert_eq!(fetches.len(), 1, "{fetches:?}");
        fetches.remove(0)
    }

    pub(crate) fn all_are(&self, outcome: Outcome) -> bool {
        self.fetches.iter().all(|fetch| fetch.outcome == outcome)
    }
}

/// The only record of a fast client that is ready.
pub(crate) fn fetch(record: Record) -> Fetch {
    match record {
        Record::Fetch(fetch) => fetch,
        other => panic!("not a fetch: {other:?}"),
    }
}
