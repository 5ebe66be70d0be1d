//! The access log: read while the program writes it, and written in the published format, which the mirror
//! writes as well, where ours belongs.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::mem;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use jiff::tz::TimeZone;
use net::log_file::{self, LogLine};
use net::{clock, role};
use records::{LogSeconds, Role};

use crate::log::{Entry, LogFormat};
use crate::program::Event;

/// How often a file is looked at for new lines, as the mirror's writer looks for records.
const TICK: Duration = Duration::from_millis(20);

/// A program's access log.
#[derive(Debug)]
pub(crate) struct AccessLog {
    format: LogFormat,
    /// The log in the published format.
    published: File,
    zone: TimeZone,
    entries: Vec<Entry>,
    pub(crate) unread: Unread,
    /// Who reads it, if it is a file.
    follower: Option<Follower>,
}

/// Lines that are the log's and cannot be read: what they would tell is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unread {
    pub(crate) lines: u64,
    /// The first of them.
    pub(crate) first: String,
}

impl AccessLog {
    /// A log that is published at `path`. If the program is about to write it to a file, that is `file`, whose
    /// lines are told.
    ///
    /// # Errors
    /// A file cannot be opened or made, or no thread.
    pub(crate) fn new(
        format: LogFormat,
        path: &Path,
        file: &Path,
        tell: impl Fn(Event) + Send + 'static,
    ) -> io::Result<Self> {
        let follower = (!format.is_stdout()).then(|| Follower::start(file, tell)).transpose()?;
        let published = log_file::append(path)?;
        let (zone, unread) = (TimeZone::system(), Unread::default());
        Ok(Self { format, published, zone, entries: Vec::new(), unread, follower })
    }

    /// Reads it to its end, now that nobody writes it any more.
    ///
    /// # Errors
    /// It could not be read.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.follower.take().map_or(Ok(()), Follower::finish)
    }

    /// Takes in a line that was just written.
    ///
    /// # Errors
    /// It cannot be published.
    pub(crate) fn line(&mut self, line: &str) -> io::Result<()> {
        if let Some(entry) = self.format.read(line, clock::unix_ms()) {
            let Entry { client, session, .. } = &entry;
            let line = LogLine { client: *client, session, zone: &self.zone };
            let (port, at) = (session.client_port, LogSeconds(Some(session.log.at_unix_ms)));
            let text = format!("{line} port={port} msec={at}\n");
            self.entries.push(entry);
            return self.published.write_all(text.as_bytes());
        }
        if self.format.is_logged(line) {
            if self.unread.lines == 0 {
                line.clone_into(&mut self.unread.first);
            }
            self.unread.lines += 1;
        }
        Ok(())
    }

    /// What it told so far, but for one request from each of these ports: those were ours.
    pub(crate) fn take_entries(&mut self, mut probes: Vec<u16>) -> Vec<Entry> {
        let mut entries = mem::take(&mut self.entries);
        entries.retain(|entry| {
            let probe = probes.iter().position(|port| *port == entry.session.client_port);
            probe.map(|probe| probes.swap_remove(probe)).is_none()
        });
        entries
    }
}

/// The thread that reads a log which is a file.
#[derive(Debug)]
struct Follower {
    thread: JoinHandle<io::Result<()>>,
    done: Arc<AtomicBool>,
}

impl Follower {
    fn start(path: &Path, tell: impl Fn(Event) + Send + 'static) -> io::Result<Self> {
        File::create(path)?;
        let mut file = BufReader::new(File::open(path)?);
        let done = Arc::new(AtomicBool::new(false));
        let is_done = Arc::clone(&done);
        let read = move || {
            let mut line = Vec::new();
            loop {
                // Asked first: what was written before it was set is then read to the end.
                let last = is_done.load(Ordering::Acquire);
                let read = file.read_until(b'\n', &mut line)?;
                if line.ends_with(b"\n") || last && read == 0 && !line.is_empty() {
                    tell(Event::Logged(
                        String::from_utf8_lossy(&line).trim_end_matches('\n').into(),
                    ));
                    line.clear();
                } else if last && read == 0 {
                    return Ok(());
                } else if read == 0 {
                    thread::park_timeout(TICK);
                }
            }
        };
        let name = role::thread_name(Role::Proxy, "log");
        Ok(Self { thread: thread::Builder::new().name(name).spawn(read)?, done })
    }

    fn finish(self) -> io::Result<()> {
        self.done.store(true, Ordering::Release);
        self.thread.thread().unpark();
        self.thread.join().unwrap_or(Ok(()))
    }
}

#[cfg(test)]
mod tests;
