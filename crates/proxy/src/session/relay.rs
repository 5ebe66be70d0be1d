//! The step that starves: read from the upstream, write to the client, again.

use records::{SessionEnd, StepEnd};

use super::side::Moved;
use super::{Env, Flow, Session, Stream};
use crate::policy::{AfterRead, ReadDone};

impl<S: Stream> Session<S> {
    /// Moves the body until one side blocks, the policy ends the step, or the body is complete.
    pub(super) fn relay(&mut self, env: &impl Env<Stream = S>) -> Flow {
        if let Some(mut pipe) = self.pipe.take() {
            let flow = self.relay_through(&mut pipe, env);
            self.pipe = Some(pipe);
            return flow;
        }
        let room = env.limits().buffer.as_usize();
        let mut after = self.after_read;
        loop {
            if let Some(flow) = self.hand_on(env) {
                return flow;
            }
            if self.body.is_done() {
                return self.answer_sent(SessionEnd::Completed);
            }
            match after {
                AfterRead::Continue => {}
                AfterRead::TakeForEmpty(by) => return Flow::Blocked(by),
                AfterRead::Yield => return Flow::Yield,
            }
            let Some(upstream) = &mut self.upstream else {
                return Flow::Close(SessionEnd::LocalError);
            };
            match upstream.read(self.out.room(room)) {
                Moved::Bytes(got) => {
                    after = self.judge_read(ReadDone { got, offered: room }, env);
                    // What follows the body's end is not the client's: it is dropped.
                    match self.body.advance(self.out.first(got)) {
                        Ok(of_body) => self.out.filled(of_body.take),
                        Err(_) => return Flow::Close(SessionEnd::UpstreamClosedEarly),
                    }
                }
                Moved::Blocked => return Flow::Blocked(StepEnd::UpstreamEmpty),
                Moved::End if self.body.ends_at_close() => {
                    return self.answer_sent(SessionEnd::Completed);
                }
                Moved::End | Moved::Broken => {
                    return Flow::Close(SessionEnd::UpstreamClosedEarly);
                }
            }
        }
    }

    /// Writes what waits for the client; `None` when all of it is gone. Every step that moves an
    /// answer comes by here between two reads: this is where the proxy's end reaches it.
    pub(super) fn hand_on(&mut self, env: &impl Env<Stream = S>) -> Option<Flow> {
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
                Moved::End | Moved::Broken => return Some(Flow::Close(SessionEnd::ClientReset)),
            }
        }
        None
    }
}
