//! Servers with one habit each, and a fast client run to its end against them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use records::{Fetch, Micros, Outcome, Ready, Record};

/// Far beyond what anything here takes: a hang becomes a failure.
const PATIENCE: Duration = Duration::from_secs(30);

/// The cap of [`Run::capped`]; the others' is far away.
pub(crate) const CAP: Micros = Micros(1_000_000);

/// A server on a port of its own; its threads end with the test process.
pub(crate) struct Server {
    pub(crate) addr: SocketAddr,
}

impl Server {
    /// Gives every connection, its request read, to `answer` on a thread of its own.
    pub(crate) fn start(answer: impl Fn(TcpStream) + Clone + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let addr = listener.local_addr().expect("bound");
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let answer = answer.clone();
                thread::spawn(move || {
                    read_request(&stream);
                    answer(stream);
                });
            }
        });
        Self { addr }
    }

    /// Answers every request with `answer` and closes.
    pub(crate) fn saying(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |mut stream| {
            // A client that gave up may be gone.
            let _ = stream.write_all(&answer);
        })
    }

    /// Says `answer` and then nothing, with the connection open.
    pub(crate) fn hanging_after(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |mut stream| {
            let _ = stream.write_all(&answer);
            wait_for_end(stream);
        })
    }
}

/// A whole and right answer of `size` bytes.
pub(crate) fn ok(size: usize) -> Vec<u8> {
    let mut answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n").into_bytes();
    answer.resize(answer.len() + size, b'x');
    answer
}

fn read_request(stream: &TcpStream) {
    let mut lines = BufReader::new(stream).lines();
    while let Some(Ok(line)) = lines.next() {
        if line.is_empty() {
            break;
        }
    }
}

/// Blocks until the client hangs up.
pub(crate) fn wait_for_end(mut stream: TcpStream) {
    let _ = stream.read(&mut [0; 64]);
}

pub(crate) fn command(addr: SocketAddr, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fast-client"));
    command.arg(addr.to_string()).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
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
        let run = Client::start(command(addr, args)).finish();
        assert_eq!(run.status.code(), Some(0), "{}", run.said);
        run
    }

    /// One small fetch that has all the time it needs.
    pub(crate) fn one(addr: SocketAddr) -> Fetch {
        Self::single(addr, "30s")
    }

    /// One small fetch that is given up after [`CAP`].
    pub(crate) fn capped(addr: SocketAddr) -> Fetch {
        Self::single(addr, "1s")
    }

    fn single(addr: SocketAddr, cap: &str) -> Fetch {
        let args = ["--arrivals", "1/s", "--duration", "1ms", "--fetch-size", "1000", "--cap", cap];
        let mut fetches = Self::of(addr, &args).fetches;
        assert_eq!(fetches.len(), 1, "{fetches:?}");
        fetches.remove(0)
    }

    pub(crate) fn all_are(&self, outcome: Outcome) -> bool {
        self.fetches.iter().all(|fetch| fetch.outcome == outcome)
    }
}

/// A client that runs; dropped, it is killed and reaped.
pub(crate) struct Client {
    child: Child,
    lines: BufReader<ChildStdout>,
    ready: Ready,
    said: mpsc::Receiver<String>,
}

impl Client {
    /// Starts one and waits for its first line.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.spawn().expect("the binary starts");
        let mut stderr = child.stderr.take().expect("piped");
        let (sender, said) = mpsc::channel();
        thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            let _ = sender.send(text);
        });
        let mut lines = BufReader::new(child.stdout.take().expect("piped"));
        match read_record(&mut lines) {
            Some(Record::Ready(ready)) => Self { child, lines, ready, said },
            other => panic!("not ready: {other:?}, {:?}", said.recv()),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it still runs; a dead one that is not reaped does not.
    pub(crate) fn is_running(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid()));
        // proc(5): the state follows the name, which stands in brackets.
        let state = stat.ok().and_then(|stat| stat.rsplit(") ").next()?.chars().next());
        !matches!(state, None | Some('Z' | 'X'))
    }

    /// The next fetch that ends.
    pub(crate) fn next(&mut self) -> Option<Fetch> {
        match read_record(&mut self.lines)? {
            Record::Fetch(fetch) => Some(fetch),
            other => panic!("not a fetch: {other:?}"),
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.pid().to_string()]).status();
        assert!(sent.expect("kill(1)").success());
    }

    /// Reads to the end.
    pub(crate) fn finish(mut self) -> Run {
        let fetches = std::iter::from_fn(|| self.next()).collect();
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("our child") {
                break status;
            }
            assert!(Instant::now() < deadline, "it closed its output and lives on");
            thread::sleep(Duration::from_millis(2));
        };
        let said = self.said.recv_timeout(PATIENCE).expect("its standard error ends with it");
        Run { ready: self.ready.clone(), fetches, status, said }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_record(lines: &mut impl BufRead) -> Option<Record> {
    let mut line = String::new();
    let read = lines.read_line(&mut line).expect("text");
    (read > 0).then(|| Record::from_line(&line).expect("a record"))
}
