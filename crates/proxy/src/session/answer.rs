//! Answers of our own, and a close that does not reset the connection under the answer.

use http1::Method;
use records::{SessionEnd, StepEnd};

use super::outbox::Outbox;
use super::phase::Happening;
use super::side::Moved;
use super::{Env, Flow, Session, Stream};
use crate::policy::{AfterRead, ReadDone};

impl<S: Stream> Session<S> {
    /// Answers `status` by ourselves; the session will end as `end`.
    pub(super) fn refuse(&mut self, status: u16, end: SessionEnd) -> Flow {
        let mut answer = http1::error_response(status);
        let head = answer.windows(4).position(|four| four == b"\r\n\r\n").map_or(0, |at| at + 4);
        if self.method == Method::Head {
            answer.truncate(head);
        }
        self.log.answer_begins(status, head);
        self.out = Outbox::holding(answer);
        self.head = Vec::new();
        self.upstream = None;
        self.answer_end = end;
        self.advance(Happening::Refused)
    }

    /// Sends what is left of our answer.
    pub(super) fn send_answer(&mut self, env: &impl Env<Stream = S>) -> Flow {
        self.hand_on(env).unwrap_or_else(|| self.answer_sent(self.answer_end))
    }

    /// All is sent: close at once, or linger if the client has said more than we have read, since
    /// `close(2)` with unread data resets the connection (RFC 1122 4.2.2.13).
    pub(super) fn answer_sent(&mut self, end: SessionEnd) -> Flow {
        self.upstream = None;
        let unread = self.client.stream().unread().unwrap_or(0);
        if unread == 0 || self.client.stream().finish().is_err() {
            return Flow::Close(end);
        }
        self.answer_end = end;
        self.advance(Happening::AnswerSent)
    }

    /// Throws away what the client says until it closes. The read policy holds for it as for any
    /// read: under `drain` nothing but the client ends it (`ngx_http_lingering_close_handler`).
    pub(super) fn linger(&mut self, env: &impl Env<Stream = S>) -> Flow {
        const EMPTY: Flow = Flow::Blocked(StepEnd::DownstreamEmpty);
        let mut waste = [0; 4096];
        // What FIONREAD saw, it saw at the upstream.
        self.read_limit.on_readable();
        while !env.told_to_end() {
            let got = match self.client.read(&mut waste) {
                Moved::Bytes(got) => got,
                Moved::Blocked => return EMPTY,
                Moved::End | Moved::Broken => return Flow::Close(self.answer_end),
            };
            self.moved = true;
            let (client, read) = (&mut self.client, ReadDone { got, offered: waste.len() });
            match self.read_limit.after_read(read, || client.stream().unread(), || env.now()) {
                AfterRead::Continue => {}
                AfterRead::TakeForEmpty(_) if client.ready().hung_up => {}
                AfterRead::TakeForEmpty(_) => {
                    client.take_for_empty();
                    return EMPTY;
                }
                AfterRead::Yield => return Flow::Yield,
            }
        }
        Flow::Close(SessionEnd::Shutdown)
    }
}
