//! A proxy process, the lines it prints, and an origin made of one closure.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use records::{Ready, Record, Session};

/// Nothing here takes longer than this unless it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Proxy {
    child: Child,
    lines: Receiver<Record>,
    pub(crate) ready: Ready,
}

impl Proxy {
    /// A proxy before `upstream`, with more arguments.
    pub(crate) fn start(upstream: SocketAddr, args: &[&str]) -> Self {
        Self::spawn(command(upstream, args))
    }

    /// A proxy started by `command`, once it is ready.
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("a proxy");
        let out = BufReader::new(child.stdout.take().expect("its output"));
        let (tell, lines) = channel();
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let record = Record::from_line(&line).expect("every line is a record");
                if tell.send(record).is_err() {
                    break;
                }
            }
        });
        match lines.recv_timeout(PATIENCE) {
            Ok(Record::Ready(ready)) => Self { child, lines, ready },
            other => panic!("not ready: {other:?}"),
        }
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        self.ready.listen.expect("a proxy listens")
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        connect(self.addr())
    }

    pub(crate) fn ask(&self, request: &[u8]) -> Vec<u8> {
        ask(self.addr(), request)
    }

    /// The next record that `pick` likes.
    pub(crate) fn await_record<T>(&self, mut pick: impl FnMut(Record) -> Option<T>) -> T {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let record = self.lines.recv_timeout(left).expect("the record comes in time");
            if let Some(picked) = pick(record) {
                return picked;
            }
        }
    }

    pub(crate) fn await_session(&self) -> Session {
        self.await_record(|record| match record {
            Record::Session(session) => Some(session),
            _ => None,
        })
    }

    /// Asks it to stop as the harness does, and what it said until then.
    pub(crate) fn stop(mut self) -> (ExitStatus, Vec<Record>) {
        signal(self.pid(), rustix::process::Signal::TERM);
        let status = self.child.wait().expect("it ends");
        (status, self.lines.iter().collect())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn connect(addr: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(addr).expect("the proxy accepts");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// Sends `request` and reads to the end; a reset ends it as well.
pub(crate) fn ask(addr: SocketAddr, request: &[u8]) -> Vec<u8> {
    let mut stream = connect(addr);
    stream.write_all(request).expect("the proxy reads");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

pub(crate) fn command(upstream: SocketAddr, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_proxy"));
    command.args(["--upstream", &upstream.to_string()]).args(args);
    command
}

pub(crate) fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid");
    rustix::process::kill_process(pid, signal).expect("our own child");
}

/// An origin that gives each connection, its request read, to `serve`.
pub(crate) fn origin(serve: impl Fn(TcpStream, String) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = listener.local_addr().expect("bound");
    let serve = std::sync::Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let serve = std::sync::Arc::clone(&serve);
            thread::spawn(move || {
                let request = read_head(&stream);
                serve(stream, request);
            });
        }
    });
    addr
}

fn read_head(mut stream: &TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|got| got > 0) {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
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

pub(crate) fn pattern(size: usize) -> Vec<u8> {
    (0..=250u8).cycle().take(size).collect()
}

pub(crate) fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: turnstile\r\n\r\n").into_bytes()
}

pub(crate) fn body(answer: &[u8]) -> &[u8] {
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    &answer[head + 4..]
}

pub(crate) fn status(answer: &[u8]) -> u16 {
    let text = String::from_utf8_lossy(answer);
    text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}
