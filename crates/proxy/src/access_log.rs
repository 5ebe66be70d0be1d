//! The access log, in the format of the published case and by the clock nginx uses for it.
//!
//! ```text
//! $remote_addr [$time_local] "$request" status=$status body_bytes_sent=$body_bytes_sent
//! rt=$request_time uct="$upstream_connect_time" uht="$upstream_header_time" urt="$upstream_response_time"
//! ```

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use net::log_file;
use records::{LogEscaped, LogSeconds, Session};

/// One line, without its newline.
pub(crate) struct AccessLine<'a> {
    client: IpAddr,
    session: &'a Session,
    zone: &'a TimeZone,
}

impl<'a> AccessLine<'a> {
    /// The line of `session`; `None`: nothing was asked, and nginx logs nothing.
    pub(crate) fn of(client: IpAddr, session: &'a Session, zone: &'a TimeZone) -> Option<Self> {
        (session.status != 0).then_some(Self { client, session, zone })
    }
}

impl fmt::Display for AccessLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Session { request, status, body_bytes, log, .. } = self.session;
        let millis = i64::try_from(log.at_unix_ms).unwrap_or(i64::MAX);
        let at = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::UNIX_EPOCH);
        let at = at.to_zoned(self.zone.clone());
        write!(
            f,
            "{client} [{at}] \"{request}\" status={status} body_bytes_sent={bytes} rt={rt} \
             uct=\"{uct}\" uht=\"{uht}\" urt=\"{urt}\"",
            client = self.client,
            at = at.strftime("%d/%b/%Y:%H:%M:%S %z"),
            request = LogEscaped(request),
            bytes = body_bytes.0,
            rt = LogSeconds(Some(log.rt_ms)),
            uct = LogSeconds(log.uct_ms),
            uht = LogSeconds(log.uht_ms),
            urt = LogSeconds(log.urt_ms),
        )
    }
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
        if let Some(line) = AccessLine::of(client, session, &self.zone) {
            // Into memory: it cannot fail.
            let _ = writeln!(self.line, "{line}");
        }
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
