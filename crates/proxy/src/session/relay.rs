//! The step that starves: read from the upstream, write to the client, again.
//!
//! As nginx with `proxy_buffering off`: one buffer, which is written before it is read into again.

use records::{SessionEnd, StepEnd};

use super::gzip::{Ending, Squeezed};
use super::side::Moved;
use super::{Env, Flow, Session, Stream};
use crate::policy::{AfterRead, ReadDone};

impl<S: Stream> Session<S> {
    /// Moves the body until one side blocks, the policy ends the step, or all is sent.
    pub(super) fn relay(&mut self, env: &impl Env<Stream = S>) -> Flow {
        if let Some(mut buffered) = self.buffered.take() {
            let flow = self.relay_buffered(&mut buffered, env);
            self.buffered = Some(buffered);
            return flow;
        }
        let room = env.limits().buffer.as_usize();
        let mut after = self.after_read;
        if self.body.is_done() {
            self.all_is_read(SessionEnd::Completed);
        }
        loop {
            if let Some(flow) = self.hand_on(env) {
                return flow;
            }
            if let Some(end) = self.over {
                return self.relayed(end);
            }
            match after {
                AfterRead::Continue => {}
                AfterRead::TakeForEmpty(by) => return Flow::Blocked(by),
                AfterRead::Yield => return Flow::Yield,
            }
            let Some(upstream) = &mut self.upstream else {
                return Flow::Close(SessionEnd::LocalError);
            };
            let into = self.compressor.as_mut().map_or(&mut self.out, |gzip| &mut gzip.input);
            match upstream.read(into.room(room)) {
                Moved::Bytes(got) => {
                    after = self.judge_read(ReadDone { got, offered: room }, env);
                    let read =
                        self.compressor.as_mut().map_or(&mut self.out, |gzip| &mut gzip.input);
                    // What follows the body's end is not the client's: it is dropped.
                    match self.body.advance(read.first(got)) {
                        Ok(of_body) => read.filled(of_body.take),
                        Err(_) => self.all_is_read(SessionEnd::UpstreamClosedEarly),
                    }
                    if self.body.is_done() {
                        self.all_is_read(SessionEnd::Completed);
                    }
                }
                Moved::Blocked => return Flow::Blocked(StepEnd::UpstreamEmpty),
                Moved::End if self.body.ends_at_close() => {
                    self.all_is_read(SessionEnd::Completed);
                }
                Moved::End | Moved::Broken => self.all_is_read(SessionEnd::UpstreamClosedEarly),
            }
        }
    }

    /// Nothing more will come; the session ends as `end` when what came is sent.
    fn all_is_read(&mut self, end: SessionEnd) {
        self.over = Some(end);
        if let Some(gzip) = &mut self.compressor {
            gzip.end(Ending::of(end));
        }
    }

    /// All that came is sent.
    pub(super) fn relayed(&mut self, end: SessionEnd) -> Flow {
        match end {
            SessionEnd::Completed => self.answer_sent(end),
            end => Flow::Close(end),
        }
    }

    /// Writes what waits for the client, also inside the compressor; `None` when all of it is gone.
    /// Every step that moves an answer unbuffered comes by here between two reads: this is where the
    /// proxy's end reaches it.
    pub(super) fn hand_on(&mut self, env: &impl Env<Stream = S>) -> Option<Flow> {
        loop {
            if env.told_to_end() {
                return Some(Flow::Close(SessionEnd::Shutdown));
            }
            while !self.out.is_empty() {
                match self.client.write(self.out.waiting()) {
                    Moved::Bytes(sent) => {
                        self.moved = true;
                        self.log.sent(sent);
                        self.out.sent(sent);
                    }
                    Moved::Blocked => return Some(Flow::Blocked(StepEnd::DownstreamFull)),
                    Moved::End | Moved::Broken => {
                        return Some(Flow::Close(SessionEnd::ClientReset));
                    }
                }
            }
            match self.compressor.as_mut()?.squeeze(&mut self.out) {
                Ok(Squeezed::Bytes) => {}
                Ok(Squeezed::Hungry) => return None,
                Err(_) => return Some(Flow::Close(SessionEnd::LocalError)),
            }
        }
    }
}
