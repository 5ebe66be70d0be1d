//! The step that starves: read from the upstream, write to the client, again.
//!
//! As nginx with `proxy_buffering off`: one buffer, which is written before it is read into again.

use std::ops::ControlFlow::{self, Break, Continue};

use http1::Body;
use records::{SessionEnd, StepEnd};

use super::Env;
use super::connection::{Buffer, Connection, IoResult};
use super::gzip::{Compressed, Ending, Gzip};
use super::phase::Context;
use crate::policy::{ReadDone, Stop};

/// An answer whose body passes unbuffered.
#[derive(Debug)]
pub(super) struct Relay {
    body: Body,
    out: Outgoing,
    /// All of the answer was read, and how the session ends when it is sent.
    over: Option<SessionEnd>,
}

impl Relay {
    /// For an answer whose head is in `out`, with the first bytes of `body`.
    pub(super) fn new(body: Body, out: Outgoing) -> Self {
        let mut relay = Self { body, out, over: None };
        relay.look_for_the_end();
        relay
    }

    pub(super) fn waits_for_client(&self) -> bool {
        !self.out.bytes.is_empty()
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
            self.out.flush(cx)?;
            if let Some(end) = self.over {
                return Continue(end);
            }
            cx.after_read?;
            let into = self.out.input();
            match upstream.read(into.refill(offered)) {
                IoResult::Bytes(got) => {
                    cx.moved = true;
                    cx.apply_read_policy(upstream, ReadDone { got, offered });
                    // What follows the body's end is not the client's: it is dropped.
                    match self.body.advance(into.room().get(..got).unwrap_or_default()) {
                        Ok(of_body) => into.filled(of_body.take),
                        Err(_) => self.all_is_read(SessionEnd::UpstreamClosedEarly),
                    }
                    self.look_for_the_end();
                }
                IoResult::Blocked => return Break(Stop::Blocked(StepEnd::UpstreamEmpty)),
                IoResult::End if self.body.ends_at_close() => {
                    self.all_is_read(SessionEnd::Completed);
                }
                IoResult::End | IoResult::Broken => {
                    self.all_is_read(SessionEnd::UpstreamClosedEarly);
                }
            }
        }
    }

    fn look_for_the_end(&mut self) {
        if self.body.is_done() {
            self.all_is_read(SessionEnd::Completed);
        }
    }

    /// Nothing more will come; the session ends as `end` when what came is sent.
    fn all_is_read(&mut self, end: SessionEnd) {
        self.over = Some(end);
        self.out.end(end);
    }
}

/// What waits for the client: bytes, and what is inside the compressor before them.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    pub(super) bytes: Buffer,
    /// `None`: the answer goes out as it came.
    pub(super) gzip: Option<Box<Gzip>>,
}

impl Outgoing {
    /// The answer `head`, with the first bytes `rest` of its body; compressed, if there is a level.
    pub(super) fn new(mut head: Vec<u8>, level: Option<u32>, rest: &[u8]) -> Self {
        let gzip = level.map(|level| Box::new(Gzip::new(level, rest.to_vec())));
        if gzip.is_none() {
            head.extend_from_slice(rest);
        }
        Self { bytes: Buffer::holding(head), gzip }
    }

    /// Writes all that waits. Every step that moves an answer unbuffered comes by here between two
    /// reads: this is where the proxy's end reaches it.
    pub(super) fn flush<E: Env>(&mut self, cx: &mut Context<'_, E>) -> ControlFlow<Stop> {
        loop {
            if cx.env.told_to_end() {
                return Break(Stop::Close(SessionEnd::Shutdown));
            }
            while !self.bytes.is_empty() {
                match cx.client.write(self.bytes.held()) {
                    IoResult::Bytes(sent) => {
                        cx.sent(sent);
                        self.bytes.gone(sent);
                    }
                    IoResult::Blocked => return Break(Stop::Blocked(StepEnd::DownstreamFull)),
                    IoResult::End | IoResult::Broken => {
                        return Break(Stop::Close(SessionEnd::ClientReset));
                    }
                }
            }
            let Some(gzip) = &mut self.gzip else { return Continue(()) };
            match gzip.compress(&mut self.bytes) {
                Ok(Compressed::Bytes) => {}
                Ok(Compressed::NeedsInput) => return Continue(()),
                Err(_) => return Break(Stop::Close(SessionEnd::LocalError)),
            }
        }
    }

    /// Where more of the answer is to be read into.
    fn input(&mut self) -> &mut Buffer {
        self.gzip.as_mut().map_or(&mut self.bytes, |gzip| &mut gzip.input)
    }

    /// Nothing more goes in, and the session ends as `end`.
    fn end(&mut self, end: SessionEnd) {
        if let Some(gzip) = &mut self.gzip {
            gzip.end(Ending::of(end));
        }
    }
}
