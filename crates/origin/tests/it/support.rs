//! A running origin and a plain client for it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use records::{Ready, Record};

/// Far beyond what anything here takes: a hang becomes a failure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_origin"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// An origin that is up; dropped, it is killed and reaped.
pub(crate) struct Origin {
    pub(crate) child: Child,
    pub(crate) ready: Ready,
    pub(crate) addr: SocketAddr,
    pub(crate) stdout: BufReader<ChildStdout>,
}

impl Origin {
    pub(crate) fn start() -> Self {
        Self::from_command(command())
    }

    pub(crate) fn from_command(mut command: Command) -> Self {
        let mut child = command.spawn().expect("the binary starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("readable");
        match Record::from_line(&line) {
            Ok(Record::Ready(ready)) => {
                let addr = ready.listen.expect("an origin listens");
                Self { child, ready, addr, stdout }
            }
            other => panic!("not ready: {other:?}"),
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.addr).expect("it accepts");
        stream.set_read_timeout(Some(PATIENCE)).expect("settable");
        stream
    }

    /// Sends `request` over a new connection and reads the answer to it.
    pub(crate) fn ask(&self, request: &str) -> Answer {
        let mut stream = BufReader::new(self.connect());
        stream.get_mut().write_all(request.as_bytes()).expect("it reads");
        Answer::read(&mut stream, method(request))
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: o\r\n\r\n"))
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status().expect("kill(1)");
        assert!(sent.success());
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        await_some("the end of the process", || self.child.try_wait().expect("our child"))
    }

    /// Open descriptors of the process.
    pub(crate) fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).expect("alive").count()
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn method(request: &str) -> &str {
    request.split(' ').next().expect("a method")
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
    pub(crate) fn read(stream: &mut impl BufRead, method: &str) -> Self {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let read = stream.read_line(&mut head).expect("a head");
            assert!(read > 0, "closed inside the head: {head:?}");
        }
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status");
        let mut answer = Self { status, head, length: 0, body: Vec::new() };
        answer.length =
            answer.header("content-length").and_then(|v| v.parse().ok()).expect("a length");
        if method != "HEAD" {
            let read = stream.take(answer.length).read_to_end(&mut answer.body).expect("a body");
            assert_eq!(read as u64, answer.length, "the body is as long as promised");
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

/// Asks `probe` until it has an answer.
pub(crate) fn await_some<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = probe() {
            return found;
        }
        assert!(Instant::now() < deadline, "gave up waiting for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
