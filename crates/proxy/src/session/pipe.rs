//! The relay with stations on the way: a temporary file for what the client does not take, and
//! compression.
//!
//! ```text
//! upstream --+-------------------------------+--> gzip --> out --> client
//!            |                               |
//!            '--> spool, if the client ------'
//!                 is full
//! ```
//!
//! Not for: a session without stations. It has no [`Pipe`], and `relay` moves its bytes.
//!
//! Invariants:
//! - Bytes leave in the order in which they came: nothing passes the spool while it holds a byte.
//! - A step ends as in `relay`, but a client that takes nothing ends it only when nothing more may
//!   be spooled.
//! - Where a step ends with bytes in the spool or the compressor's input, `out` holds some too:
//!   whoever waits for the client can be told by it.

use records::{SessionEnd, StepEnd};

use super::gzip::{Ending, Gzip, Squeezed};
use super::side::Moved;
use super::spool::Spool;
use super::{Env, Flow, Session, Stream};
use crate::policy::{AfterRead, ReadDone};

/// The stations of one session.
#[derive(Debug)]
pub(super) struct Pipe {
    spool: Option<Spool>,
    gzip: Option<Gzip>,
    source: Source,
}

/// Whether the upstream has more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Open,
    /// No; and how the session ends when all that was read is sent.
    Over(SessionEnd),
}

/// Where the next read goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Client,
    Spool,
}

impl Pipe {
    /// `None`: there are no stations.
    pub(super) fn with(spool: Option<Spool>, gzip: Option<Gzip>) -> Option<Box<Self>> {
        let any = spool.is_some() || gzip.is_some();
        any.then(|| Box::new(Self { spool, gzip, source: Source::Open }))
    }
}

impl<S: Stream> Session<S> {
    /// Moves the body until nothing more can be done, the policy ends the step, or all is sent.
    pub(super) fn relay_through(&mut self, pipe: &mut Pipe, env: &impl Env<Stream = S>) -> Flow {
        let mut after = self.after_read;
        if self.body.is_done() {
            self.source_over(pipe, SessionEnd::Completed, env);
        }
        loop {
            let full = self.push(pipe, env);
            if let Some(close @ Flow::Close(_)) = full {
                return close;
            }
            match (pipe.source, full) {
                (Source::Open, _) => {}
                (Source::Over(_), Some(full)) => return full,
                (Source::Over(SessionEnd::Completed), None) => {
                    return self.answer_sent(SessionEnd::Completed);
                }
                (Source::Over(end), None) => return Flow::Close(end),
            }
            match after {
                AfterRead::Continue => {}
                AfterRead::TakeForEmpty(by) => return Flow::Blocked(by),
                AfterRead::Yield => return Flow::Yield,
            }
            let target = match (full, &pipe.spool) {
                (None, _) => Target::Client,
                (Some(_), Some(spool)) if !spool.is_full() => Target::Spool,
                (Some(full), _) => return full,
            };
            after = match self.pull(pipe, target, env) {
                Ok(after) => after,
                Err(flow) => return flow,
            };
        }
    }

    /// Moves what was read on to the client; `None` when all of it is gone.
    fn push(&mut self, pipe: &mut Pipe, env: &impl Env<Stream = S>) -> Option<Flow> {
        let room = env.limits().buffer.as_usize();
        loop {
            if let Some(full) = self.hand_on(env) {
                return Some(full);
            }
            if let Some(gzip) = &mut pipe.gzip {
                match gzip.squeeze(&mut self.out) {
                    Ok(Squeezed::Bytes) => continue,
                    Ok(Squeezed::Hungry) => {}
                    Err(_) => return Some(Flow::Close(SessionEnd::LocalError)),
                }
            }
            let into = pipe.gzip.as_mut().map_or(&mut self.out, |gzip| &mut gzip.input);
            if let Some(spool) = pipe.spool.as_mut().filter(|spool| spool.is_behind()) {
                match spool.take(into.room(room)) {
                    Ok(got) => into.filled(got),
                    Err(_) => return Some(Flow::Close(SessionEnd::LocalError)),
                }
                continue;
            }
            let ending = match pipe.source {
                Source::Open => return None,
                Source::Over(SessionEnd::Completed) => Ending::Whole,
                Source::Over(_) => Ending::Cut,
            };
            if !pipe.gzip.as_mut().is_some_and(|gzip| gzip.end(ending)) {
                return None;
            }
        }
    }

    /// Reads once from the upstream.
    fn pull(
        &mut self,
        pipe: &mut Pipe,
        target: Target,
        env: &impl Env<Stream = S>,
    ) -> Result<AfterRead, Flow> {
        const LOST: Flow = Flow::Close(SessionEnd::LocalError);
        let room = env.limits().buffer.as_usize();
        let upstream = self.upstream.as_mut().ok_or(LOST)?;
        let into = match (target, &mut pipe.spool, &mut pipe.gzip) {
            (Target::Spool, Some(spool), _) => spool.room(room),
            (_, _, Some(gzip)) => gzip.input.room(room),
            (_, _, None) => self.out.room(room),
        };
        let offered = into.len();
        let got = match upstream.read(into) {
            Moved::Bytes(got) => got,
            Moved::Blocked => return Err(Flow::Blocked(StepEnd::UpstreamEmpty)),
            Moved::End if self.body.ends_at_close() => {
                self.source_over(pipe, SessionEnd::Completed, env);
                return Ok(AfterRead::Continue);
            }
            Moved::End | Moved::Broken => {
                self.source_over(pipe, SessionEnd::UpstreamClosedEarly, env);
                return Ok(AfterRead::Continue);
            }
        };
        let after = self.judge_read(ReadDone { got, offered }, env);
        let read = match (target, &pipe.spool, &pipe.gzip) {
            (Target::Spool, Some(spool), _) => spool.first(got),
            (_, _, Some(gzip)) => gzip.input.first(got),
            (_, _, None) => self.out.first(got),
        };
        // What follows the body's end is not the client's: it is dropped.
        let Ok(of_body) = self.body.advance(read) else {
            self.source_over(pipe, SessionEnd::UpstreamClosedEarly, env);
            return Ok(AfterRead::Continue);
        };
        match (target, &mut pipe.spool, &mut pipe.gzip) {
            (Target::Spool, Some(spool), _) => {
                spool.store(of_body.take, || env.spool_file()).map_err(|_| LOST)?;
            }
            (_, _, Some(gzip)) => gzip.input.filled(of_body.take),
            (_, _, None) => self.out.filled(of_body.take),
        }
        if self.body.is_done() {
            self.source_over(pipe, SessionEnd::Completed, env);
        }
        Ok(after)
    }

    /// The upstream is done, and let go, however long the client takes
    /// (`ngx_http_upstream_process_request`).
    fn source_over(&mut self, pipe: &mut Pipe, end: SessionEnd, env: &impl Env<Stream = S>) {
        if pipe.source == Source::Open {
            pipe.source = Source::Over(end);
            self.upstream = None;
            self.log.upstream_over(env);
        }
    }
}
