//! The relay with `--buffering on`, as nginx's own by default: whole pages are read, up to nine at a
//! time, and written two at a time; while the client takes nothing they go to a temporary file.
//!
//! What makes a step of it long: once the client's socket is full, a worker that does not come back
//! to its poll never learns that there is room again. It spools until the upstream is empty, the
//! policy ends the step, or the file is full.
//!
//! Invariants:
//! - Bytes leave in the order in which they came.
//! - A step ends by EAGAIN, by the policy, or with the session; a client that takes nothing ends it
//!   only when nothing more may be spooled.
//!
//! Source: nginx 1.17.4, `ngx_event_pipe` (src/event/ngx_event_pipe.c). Other than there, a head does
//! not wait for the first page (`postpone_output`), and an answer in chunks is passed on as it came.

mod pages;

use std::fmt;
use std::fs::File;
use std::io::{self, IoSlice};
use std::ops::ControlFlow::{self, Break, Continue};
use std::os::unix::fs::FileExt;

use http1::Body;
use records::{SessionEnd, Spool, StepEnd};

pub(super) use self::pages::{Pages, WhenShort};

use super::connection::{Buffer, IoResult};
use super::{Context, Env, Phase, blocked};
use crate::policy::{ReadDone, Stop};

/// A session's temporary file, to be written at one end and read at the other by the worker, which
/// waits for it: a real one here, a simulated one in tests.
pub(crate) trait TempFile: fmt::Debug {
    /// Writes all of `bytes` from offset `at` on, in one call.
    ///
    /// # Errors
    /// As `pwritev(2)`; or it wrote less, as where a disk is full. What it wrote is not told.
    fn store(&self, bytes: &[IoSlice<'_>], at: u64) -> io::Result<()>;

    /// Fills `into` from offset `at` on.
    ///
    /// # Errors
    /// As `pread(2)`; or the file ends too early, since somebody cut it.
    fn fetch(&self, into: &mut [u8], at: u64) -> io::Result<()>;
}

/// A temporary file where the options say (`proxy_temp_path`).
pub(crate) fn temp_file(spool: &Spool) -> io::Result<File> {
    match spool {
        Spool::Dir(dir) => tempfile::tempfile_in(dir),
        Spool::Default | Spool::Off => tempfile::tempfile(),
    }
}

impl TempFile for File {
    fn store(&self, bytes: &[IoSlice<'_>], at: u64) -> io::Result<()> {
        let all: usize = bytes.iter().map(|slice| slice.len()).sum();
        let wrote = rustix::io::retry_on_intr(|| rustix::io::pwritev(self, bytes, at))?;
        // nginx gives up as well (`ngx_writev_file`).
        if wrote == all { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    fn fetch(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        self.read_exact_at(into, at)
    }
}

/// An answer that is read into pages.
#[derive(Debug)]
pub(super) struct Buffered {
    body: Body,
    /// `None`: nothing was spooled yet.
    file: Option<Box<dyn TempFile>>,
    pages: Pages,
    /// What the client has yet to take of the head.
    head: Buffer,
    /// All of the answer was read, and how the session ends when it is sent.
    over: Option<SessionEnd>,
}

impl Buffered {
    /// For an answer with this head, and with the first bytes of `body` in `pages`.
    pub(super) fn new(
        body: Body,
        head: Buffer,
        pages: Pages,
        cx: &mut Context<'_, impl Env>,
    ) -> Self {
        let mut buffered = Self { body, file: None, pages, head, over: None };
        if buffered.body.is_done() {
            buffered.all_is_read(SessionEnd::Completed, cx);
        }
        buffered
    }

    /// Whether the client has all that was read.
    pub(super) fn is_sent(&self) -> bool {
        self.head.is_empty() && self.pages.is_drained()
    }

    /// Moves the body until nothing more can be done or the policy ends the step, or until all is sent.
    pub(super) fn run<E: Env>(&mut self, cx: &mut Context<'_, E>) -> ControlFlow<Stop, Phase> {
        let mut stop = cx.after_read;
        loop {
            self.write_out(cx)?;
            match self.over {
                Some(end) if self.is_sent() => return cx.relayed(end),
                Some(_) => return blocked(StepEnd::DownstreamFull),
                None => {}
            }
            stop?;
            // What was read before the step's end is written first.
            stop = self.read_in(cx);
        }
    }

    /// The upstream is let go, however long the client takes (`ngx_http_upstream_process_request`): all that
    /// is here may leave.
    fn all_is_read(&mut self, end: SessionEnd, cx: &mut Context<'_, impl Env>) {
        self.over = Some(end);
        self.pages.finish();
        cx.upstream.close();
        cx.log.upstream_over(cx.env.cached_ms());
    }

    /// Reads until the step is at its end, the client is to take some of the full pages first, or
    /// all is read.
    fn read_in<E: Env>(&mut self, cx: &mut Context<'_, E>) -> ControlFlow<Stop> {
        loop {
            cx.go_on_unless_told_to_end()?;
            if !cx.upstream.ready.readable {
                return blocked(StepEnd::UpstreamEmpty);
            }
            if !self.pages.has_room() {
                if cx.client.ready.writable {
                    return Continue(());
                }
                match self.spool(|| cx.env.temp_file()) {
                    Ok(true) => {}
                    Ok(false) => return blocked(StepEnd::DownstreamFull),
                    Err(_) => return Break(Stop::Close(SessionEnd::LocalError)),
                }
            }
            let mut room = self.pages.room();
            let offered = room.iter().map(|slice| slice.len()).sum();
            let got = match cx.upstream.read_vectored(&mut room) {
                IoResult::Bytes(got) => got,
                IoResult::Blocked => return blocked(StepEnd::UpstreamEmpty),
                ended => {
                    self.all_is_read(ended.end_of(&self.body), cx);
                    return Continue(());
                }
            };
            cx.moved = true;
            cx.apply_read_policy(ReadDone { got, offered });
            let end = match self.pages.took(got, |bytes| self.body.advance(bytes)) {
                Err(_) => Some(SessionEnd::UpstreamClosedEarly),
                Ok(()) => self.body.is_done().then_some(SessionEnd::Completed),
            };
            if let Some(end) = end {
                self.all_is_read(end, cx);
                return Continue(());
            }
            cx.after_read?;
        }
    }

    /// Writes the oldest pages to the file, which `make` makes if there is none yet; whether it had
    /// room for some.
    fn spool(&mut self, make: impl FnOnce() -> io::Result<Box<dyn TempFile>>) -> io::Result<bool> {
        let slices = self.pages.to_spool();
        let bytes = slices.iter().map(|slice| slice.len()).sum();
        if bytes == 0 {
            return Ok(false);
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(make()?),
        };
        file.store(&slices, self.pages.file_end())?;
        self.pages.spooled(bytes);
        Ok(true)
    }

    /// Writes what the client takes of what may leave.
    fn write_out<E: Env>(&mut self, cx: &mut Context<'_, E>) -> ControlFlow<Stop> {
        while cx.client.ready.writable {
            cx.go_on_unless_told_to_end()?;
            let read = self.pages.read_back(|into, at| match &self.file {
                Some(file) => file.fetch(into, at),
                None => Err(io::ErrorKind::NotFound.into()),
            });
            if read.is_err() {
                return Break(Stop::Close(SessionEnd::LocalError));
            }
            let line = self.pages.line(self.head.held());
            if line.iter().all(|slice| slice.is_empty()) {
                break;
            }
            match cx.client.write_vectored(&line) {
                IoResult::Bytes(sent) => {
                    cx.sent(sent);
                    let of_head = sent.min(self.head.held().len());
                    self.head.gone(of_head);
                    self.pages.sent(sent - of_head);
                }
                IoResult::Blocked => {}
                IoResult::End | IoResult::Broken => {
                    return Break(Stop::Close(SessionEnd::ClientReset));
                }
            }
        }
        Continue(())
    }
}

#[cfg(test)]
mod tests;
