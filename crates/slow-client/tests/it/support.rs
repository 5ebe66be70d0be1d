//! The slow client under test: a process whose records are read as they come, and kept. And servers for
//! one test each, on a port that the kernel chose; every connection has a thread.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use records::{Dialed, Download, DownloadEnd, DownloadInterval, Record, Role};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use testkit::{Process, Running, Signal, listen, pick, read_head};

/// A running slow client.
pub(crate) struct Slow {
    pub(crate) process: Process,
    seen: Vec<Record>,
}

/// What was left when it had ended.
pub(crate) struct Ended {
    /// `None`: killed by a signal.
    pub(crate) code: Option<i32>,
    /// Every record, from the first that follows its ready line.
    pub(crate) records: Vec<Record>,
    pub(crate) stderr: String,
}

pub(crate) fn command(args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slow-client"));
    command.args(args.split_whitespace());
    command
}

impl Slow {
    /// Starts it and waits for its first line.
    pub(crate) fn start(target: SocketAddr, args: &str) -> Self {
        Self::of(&mut command(&format!("{target} {args}")))
    }

    /// Starts this command of it and waits for its first line.
    pub(crate) fn of(command: &mut Command) -> Self {
        let process = Process::of(Running::with_stdin(command));
        assert_eq!(process.ready.role, Role::Slow);
        Self { process, seen: Vec::new() }
    }

    fn wait_for<T>(&mut self, what: &str, mut pick: impl FnMut(Record) -> Option<T>) -> T {
        self.process.await_record(what, |record| {
            self.seen.push(record.clone());
            pick(record)
        })
    }

    /// The next download that ends.
    pub(crate) fn download(&mut self) -> Download {
        self.wait_for("the end of a download", pick!(Download))
    }

    /// Waits until each of so many slots has had a whole download, of `size` bytes.
    pub(crate) fn completed(&mut self, slots: u32, size: u64) {
        let mut left: BTreeSet<u32> = (0..slots).collect();
        while !left.is_empty() {
            let download = self.download();
            assert_eq!((download.end, download.bytes.0), (DownloadEnd::Completed, size));
            left.remove(&download.slot);
        }
    }

    /// The next connection that stands.
    pub(crate) fn dialed(&mut self) -> Dialed {
        self.wait_for("a connection that stands", pick!(Dialed))
    }

    /// The next interval.
    pub(crate) fn interval(&mut self) -> DownloadInterval {
        self.wait_for("an interval", pick!(DownloadInterval))
    }

    /// Waits until every download has moved in one interval.
    pub(crate) fn moving(&mut self) {
        while self.interval().bytes.iter().any(|bytes| bytes.0 == 0) {}
    }

    /// Writes a line to its standard input.
    pub(crate) fn say(&mut self, line: &str) {
        let stdin = self.process.stdin.as_mut().expect("still open");
        writeln!(stdin, "{line}").expect("it reads its orders");
    }

    /// Changes its soft limit of open descriptors while it runs, and tells the old one.
    pub(crate) fn limit_files(&self, current: Option<u64>) -> Option<u64> {
        let pid = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw);
        let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
        let old = prlimit(pid, Resource::Nofile, Rlimit { current, maximum });
        old.expect("our child").current
    }

    /// Waits until it has ended by itself.
    pub(crate) fn ended(mut self) -> Ended {
        let said = self.process.finish();
        self.seen.extend(said.records());
        Ended { code: said.code(), records: self.seen, stderr: said.stderr }
    }

    /// Tells it to stop and waits until it has.
    pub(crate) fn stop(self) -> Ended {
        self.process.signal(Signal::TERM);
        self.ended()
    }
}

impl Ended {
    /// Every download that ended like that.
    pub(crate) fn downloads(&self, end: DownloadEnd) -> Vec<&Download> {
        let each = self.records.iter().filter_map(pick!(Download));
        each.filter(|download| download.end == end).collect()
    }

    /// Body bytes of a slot: as its downloads told them, and as the intervals did.
    pub(crate) fn bytes(&self, slot: u32) -> (u64, u64) {
        let (mut by_download, mut by_interval) = (0, 0);
        for record in &self.records {
            match record {
                Record::Download(download) if download.slot == slot => {
                    by_download += download.bytes.0;
                }
                Record::DownloadInterval(interval) => {
                    by_interval += interval.bytes[slot as usize].0;
                }
                _ => {}
            }
        }
        (by_download, by_interval)
    }
}

/// Serves each connection, counted from 0, with `serve` until the test ends.
pub(crate) fn server<F>(serve: F) -> SocketAddr
where
    F: Fn(usize, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static,
{
    let (listener, addr) = listen();
    testkit::serve(listener, move |number, mut stream| {
        // The client may leave at any time: its records tell how it went.
        let _ = serve(number, &mut stream);
    });
    addr
}

/// Reads one request head and returns its first line.
pub(crate) fn request(stream: &TcpStream) -> io::Result<String> {
    let head = read_head(stream);
    let line = head.lines().next().filter(|_| head.ends_with("\r\n\r\n"));
    line.map(str::to_owned).ok_or_else(|| ErrorKind::UnexpectedEof.into())
}

/// Reads a request and answers 200 with `lines` and these bytes.
pub(crate) fn answer(stream: &mut TcpStream, lines: &str, body: &[u8]) -> io::Result<()> {
    request(stream)?;
    write!(stream, "HTTP/1.1 200 OK\r\n{lines}\r\n")?;
    stream.write_all(body)
}

/// Reads a request and answers with a whole body of `size` bytes, as the origin does.
pub(crate) fn whole(stream: &mut TcpStream, size: usize) -> io::Result<()> {
    answer(stream, &format!("Content-Length: {size}\r\n"), &vec![b'x'; size])
}

/// Reads a request and answers with a body that does not end. It is to be the size that is asked for
/// by default.
pub(crate) fn endless(stream: &mut TcpStream) -> io::Result<()> {
    answer(stream, "Content-Length: 2147483648\r\n", &[])?;
    let piece = vec![b'x'; 1 << 16];
    loop {
        stream.write_all(&piece)?;
    }
}

/// Hangs up with a reset instead of a close.
pub(crate) fn reset(stream: &TcpStream) -> io::Result<()> {
    socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO))
}
