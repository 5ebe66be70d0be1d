//! The upstream's half: handshake, request, head; and the step that starves: read from the upstream, write
//! to the client, again.

use std::io::ErrorKind;
use std::mem;
use std::ops::ControlFlow::{self, Break, Continue};

use http1::{Body, BodyFraming, FramingError, HeadError, ResponseHead};
use records::{BufferingMode, Bytes, SessionEnd, Spool, StepEnd};

use super::buffered::{Buffered, Pages, WhenShort};
use super::connection::{Buffer, IoResult};
use super::{Context, Env, Phase, Stream, blocked};
use crate::policy::{ReadDone, Stop};

impl<E: Env> Context<'_, E> {
    /// Looks whether the handshake is decided.
    pub(super) fn connect(&mut self, request: &mut Buffer) -> ControlFlow<Stop, Phase> {
        if !self.upstream.ready.writable {
            return blocked(StepEnd::UpstreamFull);
        }
        match self.upstream.stream().and_then(Stream::connected) {
            Ok(()) => {
                self.log.connected(self.env.now(), self.env.cached_ms());
                self.moved = true;
                Continue(Phase::Sending(mem::take(request)))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.upstream.ready.writable = false;
                blocked(StepEnd::UpstreamFull)
            }
            Err(error) => Continue(self.answer_unreachable(&error)),
        }
    }

    /// Sends what is left of the request.
    pub(super) fn send_request(&mut self, request: &mut Buffer) -> ControlFlow<Stop, Phase> {
        while !request.is_empty() {
            match self.upstream.write(request.held()) {
                IoResult::Bytes(sent) => {
                    self.moved = true;
                    request.gone(sent);
                }
                IoResult::Blocked => return blocked(StepEnd::UpstreamFull),
                IoResult::End | IoResult::Broken => {
                    return Continue(self.answer(502, SessionEnd::UpstreamClosedEarly));
                }
            }
        }
        Continue(Phase::ReadingHead(Vec::new()))
    }

    /// Reads until the head is complete or wrong, nothing more is there, or the policy ends the step.
    pub(super) fn read_head(&mut self, head: &mut Vec<u8>) -> ControlFlow<Stop, Phase> {
        let offered = self.env.limits().toggles.buffer.as_usize();
        loop {
            match self.upstream.read_onto(head, offered) {
                // It has not moved: the whole head has one deadline, whatever drips in.
                IoResult::Bytes(got) => self.apply_read_policy(ReadDone { got, offered }),
                IoResult::Blocked => return blocked(StepEnd::UpstreamEmpty),
                IoResult::End | IoResult::Broken => {
                    return Continue(self.answer(502, SessionEnd::UpstreamClosedEarly));
                }
            }
            match final_head(head, self.method) {
                Ok(None) => self.after_read?,
                // The policy speaks of reads, not of heads: what is read is handed on first.
                Ok(Some((answer, len))) => {
                    let rest = head.get(len..).unwrap_or_default();
                    let relaying = self.begin_relay(&answer, len, rest);
                    let bad = |_| self.answer(502, SessionEnd::UpstreamBadHead);
                    return Continue(relaying.unwrap_or_else(bad));
                }
                Err(_) => return Continue(self.answer(502, SessionEnd::UpstreamBadHead)),
            }
        }
    }

    /// The phase behind a head of `len` bytes, with which the first bytes of its body came.
    ///
    /// # Errors
    /// The body is broken in these bytes.
    fn begin_relay(
        &mut self,
        answer: &ResponseHead,
        len: usize,
        rest: &[u8],
    ) -> Result<Phase, FramingError> {
        let mut body = Body::new(answer.body);
        let rest = rest.get(..body.advance(rest)?).unwrap_or_default();
        let mut head = answer.encode_for_client();
        self.log.head_complete(self.env.now(), self.env.cached_ms());
        self.log.answer_begins(answer.status, head.len());
        self.moved = true;
        let toggles = &self.env.limits().toggles;
        if toggles.buffering != BufferingMode::On {
            head.extend_from_slice(rest);
            let over = body.is_done().then_some(SessionEnd::Completed);
            return Ok(Phase::Relaying(Relay { body, out: Buffer::holding(head), over }));
        }
        let when_short = match answer.body {
            BodyFraming::Chunked => WhenShort::GoesOn,
            _ => WhenShort::Waits,
        };
        // `proxy_max_temp_file_size`.
        let file_max = match toggles.spool {
            Spool::Off => Bytes(0),
            _ => toggles.spool_max.unwrap_or(Bytes::gib(1)),
        };
        let pages = Pages::new(toggles.buffer.as_usize(), len, rest, file_max, when_short);
        let head = Buffer::holding(head);
        Ok(Phase::Buffering(Box::new(Buffered::new(body, head, pages, self))))
    }

    /// All is sent of an answer that the upstream has ended as `end`.
    pub(super) fn relayed(&mut self, end: SessionEnd) -> ControlFlow<Stop, Phase> {
        match end {
            SessionEnd::Completed => self.sent_all(end),
            end => Break(Stop::Close(end)),
        }
    }
}

/// The head in `read`, and its length, behind interim ones (RFC 9110 15.2), which are dropped.
fn final_head(
    read: &mut Vec<u8>,
    method: &str,
) -> Result<Option<(ResponseHead, usize)>, HeadError> {
    loop {
        match http1::parse_response(read, method)? {
            Some((head, len)) if head.is_interim() => drop(read.drain(..len)),
            found => return Ok(found),
        }
    }
}

/// An answer whose body passes unbuffered, as nginx with `proxy_buffering off`: one buffer, which is written
/// before it is read into again.
#[derive(Debug)]
pub(super) struct Relay {
    body: Body,
    /// What waits for the client.
    out: Buffer,
    /// All of the answer was read, and how the session ends when it is sent.
    over: Option<SessionEnd>,
}

impl Relay {
    /// Whether the client has all that was read.
    pub(super) fn is_sent(&self) -> bool {
        self.out.is_empty()
    }

    /// Moves the body until one side blocks or the policy ends the step, or until all is sent.
    pub(super) fn run<E: Env>(&mut self, cx: &mut Context<'_, E>) -> ControlFlow<Stop, Phase> {
        let offered = cx.env.limits().toggles.buffer.as_usize();
        loop {
            cx.flush(&mut self.out)?;
            if let Some(end) = self.over {
                return cx.relayed(end);
            }
            cx.after_read?;
            match cx.upstream.read(self.out.refill(offered)) {
                IoResult::Bytes(got) => {
                    cx.moved = true;
                    cx.apply_read_policy(ReadDone { got, offered });
                    // What follows the body's end is not the client's: it is dropped.
                    match self.body.advance(self.out.room().get(..got).unwrap_or_default()) {
                        Ok(of_body) => {
                            self.out.filled(of_body);
                            self.over = self.body.is_done().then_some(SessionEnd::Completed);
                        }
                        Err(_) => self.over = Some(SessionEnd::UpstreamClosedEarly),
                    }
                }
                IoResult::Blocked => return blocked(StepEnd::UpstreamEmpty),
                ended => self.over = Some(ended.end_of(&self.body)),
            }
        }
    }
}
