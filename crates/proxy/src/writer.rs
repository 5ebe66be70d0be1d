//! The writer: takes what workers tell out of their rings, to standard output and the access log; and the
//! access log that a worker writes itself.
//!
//! It looks at fixed intervals instead of being woken: waking it would cost the worker a system
//! call, and a worker must not pay for being recorded.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::tz::TimeZone;
use net::log_file::{self, LogLine};
use net::role;
use records::{Record, Session};

use crate::recorder::RingReader;

/// Between two looks. The ring holds a second of a worker's busiest hour.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Where records go.
pub(crate) struct Writer {
    pub(crate) rings: Vec<RingReader>,
    /// `None`: there is none, or the workers write it.
    pub(crate) log: Option<BufWriter<File>>,
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
                while let Some(told) = ring.pop() {
                    idle = false;
                    if let (Some(log), Some(client), Record::Session(session)) =
                        (&mut self.log, told.client, &told.record)
                    {
                        write_line(log, client, session, &zone)?;
                    }
                    write(&told.record, &mut out)?;
                    ring.give_back(told);
                }
            }
            out.flush()?;
            if let Some(log) = &mut self.log {
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
        out.flush()
    }
}

fn write(record: &Record, out: &mut impl Write) -> io::Result<()> {
    out.write_all(record.to_line().map_err(io::Error::other)?.as_bytes())
}

/// Writes the line of `session`; none where nothing was asked, as nginx.
fn write_line(
    out: &mut impl Write,
    client: IpAddr,
    session: &Session,
    zone: &TimeZone,
) -> io::Result<()> {
    if session.is_logged() {
        writeln!(out, "{}", LogLine { client, session, zone })
    } else {
        Ok(())
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
    path: PathBuf,
    /// Lines that could not be written: told at the first and, in sum, at the end.
    lost: u64,
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
        let path = path.to_owned();
        Ok(Self { file, path, lost: 0, zone: TimeZone::system(), line: Vec::new() })
    }

    /// Makes the line of `session` ready.
    pub(crate) fn prepare(&mut self, client: IpAddr, session: &Session) {
        self.line.clear();
        // Into memory: it cannot fail.
        let _ = write_line(&mut self.line, client, session, &self.zone);
    }

    /// Writes the line that is ready, if there is one, with one call. What was not taken is lost, as where
    /// a disk is nearly full.
    pub(crate) fn write(&mut self) {
        if self.line.is_empty() {
            return;
        }
        let reason = loop {
            match self.file.write(&self.line) {
                // A signal came before the first byte was taken.
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Ok(taken) if taken == self.line.len() => return,
                Ok(_) => break io::Error::other("only part of a line was taken"),
                Err(error) => break error,
            }
        };
        if self.lost == 0 {
            let path = self.path.display();
            let message = format!(
                "failed to write the access log {path}: {reason}; make room there, start its reader, or \
                 name another file with --access-log. Lines that cannot be written are lost"
            );
            role::say("proxy", &message);
        }
        self.lost += 1;
    }
}

impl Drop for InlineLog {
    fn drop(&mut self) {
        let Self { lost, path, .. } = self;
        if *lost > 0 {
            let path = path.display();
            role::say("proxy", &format!("lost {lost} lines of the access log {path}"));
        }
    }
}
