//! The access log as nginx writes it without `buffer=`: by the worker itself, a `write(2)` a line.
//!
//! The worker waits as long as the file makes it wait, which is what this mode is for. The order is
//! nginx's as well: the line is written before the client's connection is closed
//! (`ngx_http_close_request`, src/http/ngx_http_request.c, 1.22.1).

use std::fs::File;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::Path;

use jiff::tz::TimeZone;
use net::log_file;
use records::Session;

use super::AccessLine;

/// One worker's way into the access log.
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
