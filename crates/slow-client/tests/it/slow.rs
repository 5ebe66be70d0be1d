//! The slow client under test: a child whose records are read as they come.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Instant;

use records::{Dialed, Download, DownloadEnd, DownloadInterval, Record, Role};
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};

use crate::server::PATIENCE;

/// A running slow client. Killed when dropped.
pub(crate) struct Slow {
    child: Child,
    stdin: Option<ChildStdin>,
    records: Receiver<Record>,
    seen: Vec<Record>,
    /// Intervals never end: what a test waits for must come before this.
    deadline: Instant,
}

/// What was left when it had ended.
pub(crate) struct Ended {
    /// `None`: killed by a signal.
    pub(crate) code: Option<i32>,
    /// Every record, from the first.
    pub(crate) records: Vec<Record>,
    pub(crate) stderr: String,
}

pub(crate) fn command(target: SocketAddr, args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slow-client"));
    command.arg(target.to_string()).args(args.split_whitespace());
    command
}

impl Slow {
    /// Starts it and waits for its first line.
    pub(crate) fn start(target: SocketAddr, args: &str) -> Self {
        let mut child = command(target, args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the slow client starts");
        let stdout = child.stdout.take().expect("piped");
        let (sender, records) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let record = Record::from_line(&line).expect("every line is a record");
                if sender.send(record).is_err() {
                    break;
                }
            }
        });
        let stdin = child.stdin.take();
        let mut slow = Self {
            child,
            stdin,
            records,
            seen: Vec::new(),
            deadline: Instant::now() + 2 * PATIENCE,
        };
        match slow.next() {
            Record::Ready(ready) => assert_eq!(ready.role, Role::Slow),
            other => panic!("the first line is {other:?}"),
        }
        slow
    }

    fn next(&mut self) -> Record {
        match self.records.recv_timeout(PATIENCE) {
            Ok(record) if Instant::now() < self.deadline => {
                self.seen.push(record.clone());
                record
            }
            other => panic!("not the record that was waited for: {other:?}"),
        }
    }

    fn wait_for<T>(&mut self, mut pick: impl FnMut(Record) -> Option<T>) -> T {
        loop {
            if let Some(found) = pick(self.next()) {
                return found;
            }
        }
    }

    /// The next download that ends.
    pub(crate) fn download(&mut self) -> Download {
        self.wait_for(|record| match record {
            Record::Download(download) => Some(download),
            _ => None,
        })
    }

    /// The next connection that stands.
    pub(crate) fn dialed(&mut self) -> Dialed {
        self.wait_for(|record| match record {
            Record::Dialed(dialed) => Some(dialed),
            _ => None,
        })
    }

    /// The next interval.
    pub(crate) fn interval(&mut self) -> DownloadInterval {
        self.wait_for(|record| match record {
            Record::DownloadInterval(interval) => Some(interval),
            _ => None,
        })
    }

    /// Waits until every download has moved in one interval.
    pub(crate) fn moving(&mut self) {
        while self.interval().bytes.iter().any(|bytes| bytes.0 == 0) {}
    }

    /// Writes a line to its standard input.
    pub(crate) fn say(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("still open");
        writeln!(stdin, "{line}").expect("it reads its orders");
    }

    /// Closes its standard input.
    pub(crate) fn hush(&mut self) {
        self.stdin = None;
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    /// Changes its soft limit of open descriptors while it runs, and tells the old one.
    pub(crate) fn limit_files(&self, current: Option<u64>) -> Option<u64> {
        let pid = Some(Pid::from_child(&self.child));
        let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
        let old = prlimit(pid, Resource::Nofile, Rlimit { current, maximum });
        old.expect("our child").current
    }

    /// Waits until it has ended by itself.
    pub(crate) fn ended(mut self) -> Ended {
        loop {
            match self.records.recv_timeout(PATIENCE) {
                Ok(record) => self.seen.push(record),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it did not end"),
            }
        }
        let code = self.child.wait().expect("it ends").code();
        let mut stderr = String::new();
        let pipe = self.child.stderr.as_mut().expect("piped");
        pipe.read_to_string(&mut stderr).expect("text");
        Ended { code, records: std::mem::take(&mut self.seen), stderr }
    }

    /// Tells it to stop and waits until it has.
    pub(crate) fn stop(self) -> Ended {
        self.signal(Signal::TERM);
        self.ended()
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// Every download that ended like that.
    pub(crate) fn downloads(&self, end: DownloadEnd) -> Vec<&Download> {
        let each = self.records.iter().filter_map(|record| match record {
            Record::Download(download) => Some(download),
            _ => None,
        });
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
