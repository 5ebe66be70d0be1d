//! The access log: followed while the program writes it, and written in the published format where
//! the program has one of its own.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::ChildStdout;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use net::log_file;
use records::{LogEscaped, LogSeconds};

use crate::clocks;
use crate::driver::Driver;
use crate::entry::{self, Entry};

/// How often a file is looked at for new lines, as the mirror's writer looks for records.
const TICK: Duration = Duration::from_millis(20);
/// Room in a pipe for lines that wait for us: a program may drop what does not fit.
const PIPE: usize = 1024 * 1024;
/// What is no line any more.
const LONGEST: usize = 64 * 1024;

/// Where lines come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// A file that others write; it has no end until they have ended.
    File(File),
    /// What the program says, to its end.
    Pipe(ChildStdout),
}

impl Source {
    /// The file at `path`, from what is its end now. Made if it is not there.
    ///
    /// # Errors
    /// It cannot be made, or is not a file: what we read from a pipe would be lost to others.
    pub(crate) fn file(path: &Path) -> io::Result<Self> {
        let kind = path.metadata().map(|meta| meta.file_type());
        if kind.is_ok_and(|kind| kind.is_fifo() || kind.is_dir() || kind.is_char_device()) {
            return Err(io::Error::other(
                "it is not a file, and sessions are read from it: name one with --access-log",
            ));
        }
        let mut file = File::options().create(true).append(true).read(true).open(path)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self::File(file))
    }

    pub(crate) fn pipe(stdout: ChildStdout) -> Self {
        // As large as it is otherwise: nothing is lost until the reader is late.
        let _ = rustix::pipe::fcntl_setpipe_size(&stdout, PIPE);
        Self::Pipe(stdout)
    }

    /// What is there; empty: nothing more for now, or for ever.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match self {
                Self::File(file) => file.read(buffer),
                Self::Pipe(pipe) => pipe.read(buffer),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }
}

/// Lines that are the log's and cannot be read: what they would tell is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unread {
    pub(crate) lines: u64,
    /// The first of them.
    pub(crate) first: String,
}

impl Unread {
    fn add(&mut self, text: &str) {
        if self.lines == 0 {
            text.clone_into(&mut self.first);
        }
        self.lines = self.lines.saturating_add(1);
    }
}

/// Reads a log to its end.
pub(crate) struct Follower {
    pub(crate) source: Source,
    pub(crate) driver: Arc<dyn Driver>,
    /// Where lines go in the published format; `None`: they stand there already.
    pub(crate) publish: Option<Publisher>,
}

impl Follower {
    /// Hands each line to `take`, until the source has ended; of a file, until `done` is set and
    /// all of it has been read. Returns what could not be read.
    ///
    /// # Errors
    /// The log cannot be read, or not be written.
    pub(crate) fn run(
        mut self,
        done: &AtomicBool,
        mut take: impl FnMut(Entry),
    ) -> io::Result<Unread> {
        let mut buffer = vec![0; LONGEST];
        let mut lines = Lines::default();
        let mut unread = Unread::default();
        loop {
            // Asked first: what was written before it was set is then read to the end.
            let last = done.load(Ordering::Acquire);
            let got = self.source.read(&mut buffer)?;
            let part = buffer.get(..got).unwrap_or_default();
            self.lines(lines.add(part), &mut unread, &mut take)?;
            if got > 0 {
                continue;
            }
            match self.source {
                Source::Pipe(_) => break,
                Source::File(_) if last => break,
                Source::File(_) => thread::park_timeout(TICK),
            }
        }
        self.lines(lines.rest().into_iter().collect(), &mut unread, &mut take)?;
        Ok(unread)
    }

    fn lines(
        &mut self,
        lines: Vec<String>,
        unread: &mut Unread,
        take: &mut impl FnMut(Entry),
    ) -> io::Result<()> {
        let read_unix_ms = clocks::unix_ms();
        let mut entries = Vec::new();
        for line in &lines {
            match self.driver.read(entry::Read { text: line, read_unix_ms }) {
                Some(entry) => entries.push(entry),
                None if self.driver.is_logged(line) => unread.add(line),
                None => {}
            }
        }
        if let Some(publisher) = &mut self.publish {
            entries.iter().try_for_each(|entry| publisher.write(entry))?;
            publisher.out.flush()?;
        }
        // Told when they stand in the log.
        entries.into_iter().for_each(take);
        Ok(())
    }
}

/// Bytes put together into lines.
#[derive(Debug, Default)]
struct Lines {
    begun: Vec<u8>,
}

impl Lines {
    fn add(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut whole = Vec::new();
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            match part.split_last() {
                Some((b'\n', end)) => {
                    self.begun.extend_from_slice(end);
                    whole.push(String::from_utf8_lossy(&self.begun).into_owned());
                    self.begun.clear();
                }
                _ if self.begun.len() < LONGEST => self.begun.extend_from_slice(part),
                _ => {}
            }
        }
        whole
    }

    /// A last line without a newline.
    fn rest(self) -> Option<String> {
        (!self.begun.is_empty()).then(|| String::from_utf8_lossy(&self.begun).into_owned())
    }
}

/// Writes lines of the published format.
#[derive(Debug)]
pub(crate) struct Publisher {
    out: BufWriter<File>,
    zone: TimeZone,
}

impl Publisher {
    /// # Errors
    /// The file cannot be opened or made.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = log_file::append(path)?;
        Ok(Self { out: BufWriter::new(file), zone: TimeZone::system() })
    }

    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        writeln!(self.out, "{}", Published { entry, zone: &self.zone })
    }
}

/// One line, without its newline.
struct Published<'a> {
    entry: &'a Entry,
    zone: &'a TimeZone,
}

impl fmt::Display for Published<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Entry { client, client_port, request, status, body_bytes, times, .. } = self.entry;
        let millis = i64::try_from(times.at_unix_ms).unwrap_or(i64::MAX);
        let at = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH);
        write!(
            f,
            "{client} [{at}] \"{request}\" status={status} body_bytes_sent={bytes} rt={rt} \
             uct=\"{uct}\" uht=\"{uht}\" urt=\"{urt}\" port={client_port} msec={msec}",
            at = at.to_zoned(self.zone.clone()).strftime("%d/%b/%Y:%H:%M:%S %z"),
            request = LogEscaped(request),
            bytes = body_bytes.0,
            rt = LogSeconds(Some(times.rt_ms)),
            uct = LogSeconds(times.uct_ms),
            uht = LogSeconds(times.uht_ms),
            urt = LogSeconds(times.urt_ms),
            msec = LogSeconds(Some(times.at_unix_ms)),
        )
    }
}

#[cfg(test)]
mod tests;
