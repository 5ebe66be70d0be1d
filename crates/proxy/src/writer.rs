//! The writer: takes what workers tell out of their rings, to standard output and the access log;
//! where workers write the log themselves it says on standard error what they lost.
//!
//! It looks at fixed intervals instead of being woken: waking it would cost the worker a system
//! call, and a worker must not pay for being recorded.
//!
//! The access log is in the format of the published case, by the clock nginx uses for it:
//!
//! ```text
//! $remote_addr [$time_local] "$request" status=$status body_bytes_sent=$body_bytes_sent
//! rt=$request_time uct="$upstream_connect_time" uht="$upstream_header_time" urt="$upstream_response_time"
//! ```

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use net::log_file;
use records::{LogEscaped, LogSeconds, Record, Session};

use crate::recorder::{Event, RingReader};

/// Between two looks. The ring holds a second of a worker's busiest hour.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Where records go.
pub(crate) struct Writer {
    pub(crate) rings: Vec<RingReader>,
    pub(crate) log: LogPart,
}

/// The writer's part in the access log.
pub(crate) enum LogPart {
    /// There is none.
    Nothing,
    /// It writes it.
    Write(BufWriter<File>),
    /// The workers write it; it speaks of what they lost.
    Speak(LostLines),
}

impl Writer {
    /// Writes until `done` is set and the rings are empty.
    ///
    /// # Errors
    /// The reader of our standard output is gone, or the disk is full.
    pub(crate) fn run(mut self, done: &Arc<AtomicBool>) -> io::Result<()> {
        let zone = TimeZone::system();
        let mut out = BufWriter::new(io::stdout());
        loop {
            // Read before the rings: what was told before `done` is in them by now.
            let last = done.load(Ordering::Acquire);
            let mut idle = true;
            for ring in &mut self.rings {
                while let Ok(told) = ring.pop() {
                    idle = false;
                    let record = match told {
                        Event::Accepted(accepted) => Record::Accepted(accepted),
                        Event::Hold(hold) => Record::Hold(hold),
                        Event::LoopTurn(turn) => Record::LoopTurn(turn),
                        Event::Stretch(stretch) => Record::Stretch(stretch),
                        Event::Large(large) => {
                            if let (LogPart::Write(log), Some(client), Record::Session(session)) =
                                (&mut self.log, large.client, &large.record)
                            {
                                write_line(log, client, session, &zone)?;
                            }
                            write(&large.record, &mut out)?;
                            ring.give_back(large);
                            continue;
                        }
                        Event::LineLost(reason) => {
                            if let LogPart::Speak(lost) = &mut self.log {
                                say(lost.add(&reason));
                            }
                            continue;
                        }
                    };
                    write(&record, &mut out)?;
                }
            }
            out.flush()?;
            if let LogPart::Write(log) = &mut self.log {
                log.flush()?;
            }
            match (last, idle) {
                (true, _) => break,
                (false, true) => std::thread::park_timeout(LOOK_EVERY),
                (false, false) => {}
            }
        }
        for totals in self.rings.iter().filter_map(|ring| ring.amended(net::clock::now())) {
            write(&Record::WorkerTotals(totals), &mut out)?;
        }
        out.flush()?;
        if let LogPart::Speak(lost) = &self.log {
            say(lost.total());
        }
        Ok(())
    }
}

fn write(record: &Record, out: &mut impl Write) -> io::Result<()> {
    out.write_all(record.to_line().map_err(io::Error::other)?.as_bytes())
}

#[expect(clippy::print_stderr, reason = "a program's own message")]
fn say(message: Option<String>) {
    if let Some(message) = message {
        eprintln!("proxy: {message}");
    }
}

/// Writes the line of `session`; none where nothing was asked, as nginx.
fn write_line(
    out: &mut impl Write,
    client: IpAddr,
    session: &Session,
    zone: &TimeZone,
) -> io::Result<()> {
    let Session { request, status, body_bytes, log, .. } = session;
    if *status == 0 {
        return Ok(());
    }
    let millis = i64::try_from(log.at_unix_ms).unwrap_or(i64::MAX);
    let at = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH);
    let at = at.to_zoned(zone.clone());
    writeln!(
        out,
        "{client} [{at}] \"{request}\" status={status} body_bytes_sent={bytes} rt={rt} \
         uct=\"{uct}\" uht=\"{uht}\" urt=\"{urt}\"",
        at = at.strftime("%d/%b/%Y:%H:%M:%S %z"),
        request = LogEscaped(request),
        bytes = body_bytes.0,
        rt = LogSeconds(Some(log.rt_ms)),
        uct = LogSeconds(log.uct_ms),
        uht = LogSeconds(log.uht_ms),
        urt = LogSeconds(log.urt_ms),
    )
}

/// The access log as nginx writes it without `buffer=`: by the worker itself, a `write(2)` a line.
///
/// The worker waits as long as the file makes it wait, which is what this mode is for. The order is
/// nginx's as well: the line is written before the client's connection is closed
/// (`ngx_http_close_request`, src/http/ngx_http_request.c, 1.22.1).
#[derive(Debug)]
pub(crate) struct InlineLog {
    /// Opened for this worker alone, with O_APPEND: lines of several workers do not overwrite each
    /// other.
    file: File,
    zone: TimeZone,
    /// The line to be written; its room is reused.
    line: Vec<u8>,
}

impl InlineLog {
    /// Opens the log at `path`, which may be a FIFO that somebody reads.
    ///
    /// # Errors
    /// As [`log_file::append`].
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = log_file::append(path)?;
        Ok(Self { file, zone: TimeZone::system(), line: Vec::new() })
    }

    /// Makes the line of `session` ready.
    pub(crate) fn prepare(&mut self, client: IpAddr, session: &Session) {
        self.line.clear();
        // Into memory: it cannot fail.
        let _ = write_line(&mut self.line, client, session, &self.zone);
    }

    /// Writes the line that is ready, if there is one, with one call. What was not taken is lost.
    ///
    /// # Errors
    /// As `write(2)`; or only a part of the line was taken, as by a disk that is nearly full.
    pub(crate) fn write(&mut self) -> io::Result<()> {
        if self.line.is_empty() {
            return Ok(());
        }
        loop {
            return match self.file.write(&self.line) {
                // A signal came before the first byte was taken.
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
                Ok(taken) if taken < self.line.len() => {
                    Err(io::Error::new(io::ErrorKind::WriteZero, "only part of a line was taken"))
                }
                Ok(_) => Ok(()),
            };
        }
    }
}

/// Lines of the access log that workers could not write: told once, then counted.
#[derive(Debug)]
pub(crate) struct LostLines {
    log: PathBuf,
    count: u64,
}

impl LostLines {
    /// None of `log` is lost yet.
    pub(crate) fn of(log: PathBuf) -> Self {
        Self { log, count: 0 }
    }

    /// One more is lost, for this reason. What to say of it, if it is the first.
    pub(crate) fn add(&mut self, reason: &io::Error) -> Option<String> {
        self.count += 1;
        (self.count == 1).then(|| {
            let advice = match reason.kind() {
                io::ErrorKind::StorageFull
                | io::ErrorKind::QuotaExceeded
                | io::ErrorKind::WriteZero => "make room there",
                io::ErrorKind::BrokenPipe => "start its reader again",
                _ => "look at that file",
            };
            format!(
                "failed to write the access log {}: {reason}; {advice}, or name another file with \
                 --access-log. Lines that cannot be written are lost",
                self.log.display()
            )
        })
    }

    /// What to say at the end, if any were lost.
    pub(crate) fn total(&self) -> Option<String> {
        let (log, lines) = (self.log.display(), if self.count == 1 { "line" } else { "lines" });
        (self.count > 0).then(|| format!("lost {} {lines} of the access log {log}", self.count))
    }
}

#[cfg(test)]
mod tests;
