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
use std::mem;
use std::ops::ControlFlow::{self, Break, Continue};
use std::os::unix::fs::FileExt;

use http1::Body;
use records::{SessionEnd, StepEnd};

pub(super) use self::pages::{Pages, WhenShort};

use super::Env;
use super::connection::{Buffer, Connection, IoResult};
use super::phase::{Context, Leave};
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
    rest: Delivery,
}

/// What lies between upstream and client.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    /// `None`: nothing was spooled yet.
    file: Option<Box<dyn TempFile>>,
    pages: Pages,
    /// What the client has yet to take of the head.
    head: Buffer,
}

impl Buffered {
    /// For an answer with this head, and with the first bytes of `body` in `pages`.
    pub(super) fn new(body: Body, head: Buffer, pages: Pages) -> Self {
        Self { body, rest: Delivery { file: None, pages, head } }
    }

    pub(super) fn waits_for_client(&self) -> bool {
        !self.rest.is_sent()
    }

    /// All that the client has yet to take, once all was read.
    pub(super) fn take_rest(&mut self) -> Box<Delivery> {
        self.rest.pages.finish();
        Box::new(mem::take(&mut self.rest))
    }

    /// Moves the body until nothing more can be done or the policy ends the step; or until all is
    /// read, and how the session ends when it is sent.
    pub(super) fn run<E: Env>(
        &mut self,
        upstream: &mut Connection<E::Stream>,
        cx: &mut Context<'_, E>,
    ) -> ControlFlow<Stop, SessionEnd> {
        if self.body.is_done() {
            return Continue(SessionEnd::Completed);
        }
        let mut stop = cx.after_read;
        loop {
            self.rest.write_out(cx)?;
            stop?;
            match self.read_in(upstream, cx) {
                Continue(Some(end)) => return Continue(end),
                Continue(None) => {}
                // What was read before it is written first.
                Break(end_of_step) => stop = Break(end_of_step),
            }
        }
    }

    /// Reads until the step is at its end, the client is to take some of the full pages first, or
    /// all is read, and how the session ends then.
    fn read_in<E: Env>(
        &mut self,
        upstream: &mut Connection<E::Stream>,
        cx: &mut Context<'_, E>,
    ) -> ControlFlow<Stop, Option<SessionEnd>> {
        let Self { body, rest } = self;
        loop {
            if cx.env.told_to_end() {
                return Break(Stop::Close(SessionEnd::Shutdown));
            }
            if !upstream.ready.readable {
                return Break(Stop::Blocked(StepEnd::UpstreamEmpty));
            }
            if !rest.pages.has_room() {
                if cx.client.ready.writable {
                    return Continue(None);
                }
                match rest.spool(|| cx.env.temp_file()) {
                    Ok(true) => {}
                    Ok(false) => return Break(Stop::Blocked(StepEnd::DownstreamFull)),
                    Err(_) => return Break(Stop::Close(SessionEnd::LocalError)),
                }
            }
            let (mut room, slices) = rest.pages.room();
            let room = room.get_mut(..slices).unwrap_or_default();
            let offered = room.iter().map(|slice| slice.len()).sum();
            let got = match upstream.read_vectored(room) {
                IoResult::Bytes(got) => got,
                IoResult::Blocked => return Break(Stop::Blocked(StepEnd::UpstreamEmpty)),
                IoResult::End if body.ends_at_close() => {
                    return Continue(Some(SessionEnd::Completed));
                }
                IoResult::End | IoResult::Broken => {
                    return Continue(Some(SessionEnd::UpstreamClosedEarly));
                }
            };
            cx.moved = true;
            cx.apply_read_policy(upstream, ReadDone { got, offered });
            let keep = |bytes: &[u8]| body.advance(bytes).map(|of_body| of_body.take);
            if rest.pages.took(got, keep).is_err() {
                return Continue(Some(SessionEnd::UpstreamClosedEarly));
            }
            if body.is_done() {
                return Continue(Some(SessionEnd::Completed));
            }
            cx.after_read?;
        }
    }
}

impl Delivery {
    /// Writes the rest of an answer that is read; the session ends as `end` when it is sent.
    pub(super) fn deliver<E: Env>(
        &mut self,
        end: SessionEnd,
        cx: &mut Context<'_, E>,
    ) -> Leave<E::Stream> {
        match self.write_out(cx) {
            Break(stop) => Leave::Stop(stop),
            Continue(()) if self.is_sent() => Leave::relayed(end),
            Continue(()) => Leave::blocked(StepEnd::DownstreamFull),
        }
    }

    fn is_sent(&self) -> bool {
        self.head.is_empty() && self.pages.is_drained()
    }

    /// Writes the oldest pages to the file, which `make` makes if there is none yet; whether it had
    /// room for some.
    fn spool(&mut self, make: impl FnOnce() -> io::Result<Box<dyn TempFile>>) -> io::Result<bool> {
        let (slices, pages) = self.pages.to_spool();
        if pages == 0 {
            return Ok(false);
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(make()?),
        };
        file.store(slices.get(..pages).unwrap_or_default(), self.pages.file_end())?;
        self.pages.spooled(pages);
        Ok(true)
    }

    /// Writes what the client takes of what may leave.
    fn write_out<E: Env>(&mut self, cx: &mut Context<'_, E>) -> ControlFlow<Stop> {
        while cx.client.ready.writable {
            if cx.env.told_to_end() {
                return Break(Stop::Close(SessionEnd::Shutdown));
            }
            let read = self.pages.read_back(|into, at| match &self.file {
                Some(file) => file.fetch(into, at),
                None => Err(io::ErrorKind::NotFound.into()),
            });
            if read.is_err() {
                return Break(Stop::Close(SessionEnd::LocalError));
            }
            let (line, slices) = self.pages.line(self.head.held());
            if slices == 0 {
                break;
            }
            match cx.client.write_vectored(line.get(..slices).unwrap_or_default()) {
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
