//! The access log: read while the program writes it, and written in the published format where the
//! program has one of its own.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use net::{clock, log_file};
use records::{LogEscaped, LogSeconds, MonoNs};

use crate::log::{Entry, LogFormat};

/// How often a file is looked at for new lines, as the mirror's writer looks for records.
const TICK: Duration = Duration::from_millis(20);
/// A longer line is read in pieces of this size.
const LONGEST: u64 = 64 * 1024;

/// Reads lines of a log.
#[derive(Debug)]
pub(crate) struct LogReader {
    format: LogFormat,
    /// Where lines go in the published format; `None`: they stand there already.
    publisher: Option<Publisher>,
    unread: Unread,
}

/// Lines that are the log's and cannot be read: what they would tell is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unread {
    pub(crate) lines: u64,
    /// The first of them.
    pub(crate) first: String,
}

impl LogReader {
    pub(crate) fn new(format: LogFormat, publisher: Option<Publisher>) -> Self {
        Self { format, publisher, unread: Unread::default() }
    }

    /// What a line tells, once it stands in the log; `None`: nothing, or nothing that can be read.
    ///
    /// # Errors
    /// The log cannot be written.
    pub(crate) fn line(&mut self, line: &str) -> io::Result<Option<Entry>> {
        let Some(entry) = self.format.read(line, unix_ms()) else {
            if self.format.is_logged(line) {
                if self.unread.lines == 0 {
                    line.clone_into(&mut self.unread.first);
                }
                self.unread.lines += 1;
            }
            return Ok(None);
        };
        if let Some(publisher) = &mut self.publisher {
            publisher.write(&entry)?;
        }
        Ok(Some(entry))
    }

    /// What could not be read.
    pub(crate) fn unread(self) -> Unread {
        self.unread
    }
}

/// The log at `path`, which others write, from what is its end now. Made if it is not there.
///
/// # Errors
/// It cannot be made, or is not a file: what we read from a pipe would be lost to others.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let kind = path.metadata().map(|meta| meta.file_type());
    if kind.is_ok_and(|kind| kind.is_fifo() || kind.is_dir() || kind.is_char_device()) {
        return Err(io::Error::other(
            "it is not a file, and sessions are read from it: name one with --access-log",
        ));
    }
    let mut file = File::options().create(true).append(true).read(true).open(path)?;
    file.seek(SeekFrom::End(0))?;
    Ok(file)
}

/// Hands each line of `file` to `take` until `done` is set and all of it has been read. A file has no end
/// until those who write it have ended.
///
/// # Errors
/// The log cannot be read.
pub(crate) fn follow(file: File, done: &AtomicBool, mut take: impl FnMut(&str)) -> io::Result<()> {
    let mut file = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        // Asked first: what was written before it was set is then read to the end.
        let last = done.load(Ordering::Acquire);
        let room = LONGEST.saturating_sub(line.len() as u64);
        let read = file.by_ref().take(room).read_until(b'\n', &mut line)?;
        let is_whole = line.ends_with(b"\n") || line.len() as u64 >= LONGEST;
        let at_end = read == 0 && !is_whole;
        if is_whole || at_end && last && !line.is_empty() {
            take(String::from_utf8_lossy(&line).trim_end_matches('\n'));
            line.clear();
        } else if at_end && last {
            return Ok(());
        } else if at_end {
            thread::park_timeout(TICK);
        }
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
        writeln!(self.out, "{}", Published { entry, zone: &self.zone })?;
        self.out.flush()
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

/// How far the wall clock of access logs is from the monotonic one of records, measured once: a step of
/// the wall clock in a run is not followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WallClock {
    /// Its reading when the monotonic one stood at zero, nanoseconds since 1970.
    origin_ns: i128,
}

impl WallClock {
    pub(crate) fn read() -> Self {
        let mono = i128::from(clock::now().0);
        Self { origin_ns: Timestamp::now().as_nanosecond() - mono }
    }

    /// The monotonic time of a wall time, milliseconds since 1970; zero for what was before boot.
    pub(crate) fn mono(self, unix_ms: u64) -> MonoNs {
        let ns = i128::from(unix_ms) * 1_000_000 - self.origin_ns;
        MonoNs(u64::try_from(ns.max(0)).unwrap_or(u64::MAX))
    }
}

/// Milliseconds since 1970, now.
fn unix_ms() -> u64 {
    u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
