//! The step that starves: read from the upstream, write to the client, again.
//!
//! As nginx with `proxy_buffering off`: one buffer, which is written before it is read into again.

use std::ops::ControlFlow::{self, Break, Continue};

use http1::Body;
use records::{SessionEnd, StepEnd};

use super::Env;
use super::connection::{Buffer, Connection, IoResult};
use super::phase::Context;
use crate::policy::{ReadDone, Stop};

/// An answer whose body passes unbuffered.
#[derive(Debug)]
pub(super) struct Relay {
    body: Body,
    /// What waits for the client.
    out: Buffer,
    /// All of the answer was read, and how the session ends when it is sent.
    over: Option<SessionEnd>,
}

impl Relay {
    /// For an answer whose head is in `out`, with the first bytes of `body`.
    pub(super) fn new(body: Body, out: Buffer) -> Self {
        let mut relay = Self { body, out, over: None };
        relay.look_for_the_end();
        relay
    }

    pub(super) fn waits_for_client(&self) -> bool {
        !self.out.is_empty()
    }

    /// Moves the body until one side blocks or the policy ends the step; or until all is sent, and
    /// how the session ends then.
    pub(super) fn run<E: Env>(
        &mut self,
        upstream: &mut Connection<E::Stream>,
        cx: &mut Context<'_, E>,
    ) -> ControlFlow<Stop, SessionEnd> {
        let offered = cx.env.limits().toggles.buffer.as_usize();
        loop {
            cx.flush(&mut self.out)?;
            if let Some(end) = self.over {
                return Continue(end);
            }
            cx.after_read?;
            match upstream.read(self.out.refill(offered)) {
                IoResult::Bytes(got) => {
                    cx.moved = true;
                    cx.apply_read_policy(upstream, ReadDone { got, offered });
                    // What follows the body's end is not the client's: it is dropped.
                    match self.body.advance(self.out.room().get(..got).unwrap_or_default()) {
                        Ok(of_body) => self.out.filled(of_body.take),
                        Err(_) => self.over = Some(SessionEnd::UpstreamClosedEarly),
                    }
                    self.look_for_the_end();
                }
                IoResult::Blocked => return Break(Stop::Blocked(StepEnd::UpstreamEmpty)),
                IoResult::End if self.body.ends_at_close() => {
                    self.over = Some(SessionEnd::Completed);
                }
                IoResult::End | IoResult::Broken => {
                    self.over = Some(SessionEnd::UpstreamClosedEarly);
                }
            }
        }
    }

    fn look_for_the_end(&mut self) {
        if self.body.is_done() {
            self.over = Some(SessionEnd::Completed);
        }
    }
}

impl<E: Env> Context<'_, E> {
    /// Writes all that waits in `out`. Every step that moves an answer unbuffered comes by here between two
    /// reads: this is where the proxy's end reaches it.
    pub(super) fn flush(&mut self, out: &mut Buffer) -> ControlFlow<Stop> {
        if self.env.told_to_end() {
            return Break(Stop::Close(SessionEnd::Shutdown));
        }
        while !out.is_empty() {
            match self.client.write(out.held()) {
                IoResult::Bytes(sent) => {
                    self.sent(sent);
                    out.gone(sent);
                }
                IoResult::Blocked => return Break(Stop::Blocked(StepEnd::DownstreamFull)),
                IoResult::End | IoResult::Broken => {
                    return Break(Stop::Close(SessionEnd::ClientReset));
                }
            }
        }
        Continue(())
    }
}
