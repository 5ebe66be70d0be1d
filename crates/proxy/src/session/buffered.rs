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
//! not wait for the first page (`postpone_output`), a client that has room again gets what is left of
//! a page even while nothing new is read, and an answer
//! in chunks is passed on as it came.

mod outlet;
mod pages;
mod temp_file;

use std::io;

use http1::BodyFraming;
use records::{SessionEnd, StepEnd};

use self::pages::{HandOut, Page, Pages};
pub(crate) use self::temp_file::TempFile;
use super::gzip::Ending;
use super::limits::Buffering;
use super::side::Moved;
use super::{Env, Flow, Session, Stream};
use crate::policy::{AfterRead, ReadDone};

/// What lies between upstream and client.
#[derive(Debug)]
pub(super) struct Buffered {
    pages: Pages,
    /// `None`: nothing was spooled yet.
    file: Option<Box<dyn TempFile>>,
    when_short: WhenShort,
}

/// What becomes of a page that a read filled in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WhenShort {
    /// It waits for the next read.
    Waits,
    /// It goes on: it may end with a chunk (`ngx_http_proxy_chunked_filter`).
    GoesOn,
}

/// Why no more is read for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadStop {
    /// Nothing says so, or the client is to take some of the full pages first.
    NotYet,
    /// The answer is complete, or broken.
    Over,
    /// The step is at its end.
    Step(Flow),
}

impl ReadStop {
    /// What a read leads to.
    fn after(read: AfterRead) -> Self {
        match read {
            AfterRead::Continue => Self::NotYet,
            AfterRead::TakeForEmpty(by) => Self::Step(Flow::Blocked(by)),
            AfterRead::Yield => Self::Step(Flow::Yield),
        }
    }
}

impl Buffered {
    /// For an answer in pages of `size` bytes, whose head had `head` bytes and came with `rest`.
    pub(super) fn new(
        size: usize,
        buffering: &Buffering,
        framing: BodyFraming,
        head: usize,
        rest: &[u8],
    ) -> Box<Self> {
        let first = Page::behind_head(size, head, rest);
        let when_short = match framing {
            BodyFraming::Chunked => WhenShort::GoesOn,
            _ => WhenShort::Waits,
        };
        Box::new(Self {
            pages: Pages::new(size, first, buffering.file_max),
            file: None,
            when_short,
        })
    }

    /// Whether nothing waits for the client.
    pub(super) fn is_drained(&self) -> bool {
        self.pages.is_drained()
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

    /// Brings into the line what can be sent next.
    fn line_up(&mut self, how_much: HandOut) -> io::Result<()> {
        self.pages.hand_out(how_much);
        let Self { pages, file, .. } = self;
        pages.outlet.line_up(|into, at| match file {
            Some(file) => file.fetch(into, at),
            None => Err(io::ErrorKind::NotFound.into()),
        })
    }
}

impl<S: Stream> Session<S> {
    /// Moves the body until nothing more can be done, the policy ends the step, or all is sent.
    pub(super) fn relay_buffered(&mut self, at: &mut Buffered, env: &impl Env<Stream = S>) -> Flow {
        if self.body.is_done() {
            self.source_over(at, SessionEnd::Completed, env);
        }
        let mut stop = ReadStop::after(self.after_read);
        loop {
            if let Err(close) = self.write_out(at, env) {
                return close;
            }
            match (self.over, stop) {
                (Some(end), _) if self.all_is_sent(at) => return self.relayed(end),
                (Some(_), _) => return Flow::Blocked(StepEnd::DownstreamFull),
                (None, ReadStop::Step(flow)) => return flow,
                (None, ReadStop::NotYet | ReadStop::Over) => stop = self.read_in(at, env),
            }
        }
    }

    fn all_is_sent(&self, at: &Buffered) -> bool {
        let compressed = self.compressor.as_ref().is_none_or(|gzip| gzip.is_done());
        at.is_drained() && self.out.is_empty() && compressed
    }

    /// Reads until nothing more is there or no page is free.
    fn read_in(&mut self, at: &mut Buffered, env: &impl Env<Stream = S>) -> ReadStop {
        const LOST: ReadStop = ReadStop::Step(Flow::Close(SessionEnd::LocalError));
        loop {
            if env.told_to_end() {
                return ReadStop::Step(Flow::Close(SessionEnd::Shutdown));
            }
            let Some(upstream) = &mut self.upstream else { return LOST };
            if !upstream.ready().readable {
                return ReadStop::Step(Flow::Blocked(StepEnd::UpstreamEmpty));
            }
            if !at.pages.has_room() {
                if self.client.ready().writable {
                    return ReadStop::NotYet;
                }
                match at.spool(|| env.temp_file()) {
                    Ok(true) => {}
                    Ok(false) => return ReadStop::Step(Flow::Blocked(StepEnd::DownstreamFull)),
                    Err(_) => return LOST,
                }
            }
            let (mut room, slices) = at.pages.room();
            let room = room.get_mut(..slices).unwrap_or_default();
            let offered = room.iter().map(|slice| slice.len()).sum();
            let got = match upstream.read_vectored(room) {
                Moved::Bytes(got) => got,
                Moved::Blocked => {
                    return ReadStop::Step(Flow::Blocked(StepEnd::UpstreamEmpty));
                }
                Moved::End if self.body.ends_at_close() => {
                    return self.source_over(at, SessionEnd::Completed, env);
                }
                Moved::End | Moved::Broken => {
                    return self.source_over(at, SessionEnd::UpstreamClosedEarly, env);
                }
            };
            let after = self.judge_read(ReadDone { got, offered }, env);
            let body = &mut self.body;
            let kept = at.pages.took(got, |bytes| body.advance(bytes).map(|of_body| of_body.take));
            if kept.is_err() {
                return self.source_over(at, SessionEnd::UpstreamClosedEarly, env);
            }
            if self.body.is_done() {
                return self.source_over(at, SessionEnd::Completed, env);
            }
            if at.when_short == WhenShort::GoesOn {
                at.pages.close_page();
            }
            if after != AfterRead::Continue {
                return ReadStop::after(after);
            }
        }
    }

    /// The upstream is done, and let go, however long the client takes
    /// (`ngx_http_upstream_process_request`).
    fn source_over(
        &mut self,
        at: &mut Buffered,
        end: SessionEnd,
        env: &impl Env<Stream = S>,
    ) -> ReadStop {
        if self.over.is_none() {
            self.over = Some(end);
            self.upstream = None;
            self.log.upstream_over(env);
            at.pages.close_page();
        }
        ReadStop::Over
    }

    /// Writes what the client takes of what may be written.
    ///
    /// # Errors
    /// How the session ends, if it ends here.
    fn write_out(&mut self, at: &mut Buffered, env: &impl Env<Stream = S>) -> Result<(), Flow> {
        let how_much = if self.over.is_some() { HandOut::All } else { HandOut::Some };
        while self.client.ready().writable {
            if env.told_to_end() {
                return Err(Flow::Close(SessionEnd::Shutdown));
            }
            at.line_up(how_much).map_err(|_| Flow::Close(SessionEnd::LocalError))?;
            let moved = match self.compressor {
                Some(_) => self.compress_line(at, env)?,
                None => self.write_line(at)?,
            };
            if !moved {
                break;
            }
        }
        Ok(())
    }

    /// Writes the head and the line in one call; whether there was anything.
    fn write_line(&mut self, at: &mut Buffered) -> Result<bool, Flow> {
        let (line, slices) = at.pages.outlet.line(self.out.waiting());
        if slices == 0 {
            return Ok(false);
        }
        match self.client.write_vectored(line.get(..slices).unwrap_or_default()) {
            Moved::Bytes(sent) => {
                self.moved = true;
                self.log.sent(sent);
                let of_head = sent.min(self.out.waiting().len());
                self.out.sent(of_head);
                at.pages.sent(sent - of_head);
            }
            Moved::Blocked => {}
            Moved::End | Moved::Broken => return Err(Flow::Close(SessionEnd::ClientReset)),
        }
        Ok(true)
    }

    /// Compresses one page's worth of the line and writes what comes out; whether there was anything.
    fn compress_line(
        &mut self,
        at: &mut Buffered,
        env: &impl Env<Stream = S>,
    ) -> Result<bool, Flow> {
        match self.hand_on(env) {
            Some(close @ Flow::Close(_)) => return Err(close),
            Some(_) => return Ok(true),
            None => {}
        }
        let Some(gzip) = &mut self.compressor else { return Ok(false) };
        let bytes = gzip.take(at.pages.outlet.first());
        at.pages.sent(bytes);
        let ended = match self.over {
            Some(end) if at.is_drained() => gzip.end(Ending::of(end)),
            _ => false,
        };
        Ok(bytes > 0 || ended)
    }
}

#[cfg(test)]
mod tests;
