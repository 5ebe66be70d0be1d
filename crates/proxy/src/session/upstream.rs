//! The upstream's half: handshake, request, head; then the relay of the body.

use std::mem;
use std::ops::ControlFlow::{self, Break, Continue};
use std::time::Duration;

use http1::{
    Body, BodyFraming, FramingError, HeadError, HeadLimit, Method, Parsed, RequestHead,
    ResponseHead,
};
use records::{SessionEnd, StepEnd};

use super::buffered::{Buffered, Pages, WhenShort};
use super::connection::{Buffer, ConnectState, Connection, Event, IoResult};
use super::phase::{Context, Leave, Phase};
use super::relay::Relay;
use super::{Env, Limits, Stream};
use crate::policy::ReadDone;
use records::ProxyToggles;

/// What there is while there is an upstream connection.
#[derive(Debug)]
pub(super) struct Exchange<S> {
    stage: Stage,
    upstream: Connection<S>,
}

/// How far an exchange is.
#[derive(Debug)]
enum Stage {
    /// The handshake is under way; the request waits for it.
    Connecting(Buffer),
    /// The request is on its way.
    Sending(Buffer),
    /// The answer's head is not complete: as much of it as there is.
    ReadingHead(Vec<u8>),
    /// The answer's body moves to the client,
    Relaying(Relay),
    /// or into pages, and from there to the client or into a file.
    Buffering(Box<Buffered>),
}

impl<S: Stream> Exchange<S> {
    /// On a connection that was begun, for a request whose head is complete.
    pub(super) fn new(stream: S, head: &RequestHead, limits: &Limits) -> Self {
        let request = Buffer::holding(head.encode_for_upstream(&limits.upstream_host));
        Self { stage: Stage::Connecting(request), upstream: Connection::new(stream) }
    }

    pub(super) fn on_event(&mut self, event: Event) {
        self.upstream.on_event(event);
    }

    /// Whoever is waited for was too slow.
    pub(super) fn on_deadline(&self, cx: &mut Context<'_, impl Env<Stream = S>>) -> Leave<S> {
        match &self.stage {
            Stage::Connecting(_) | Stage::Sending(_) | Stage::ReadingHead(_) => {
                cx.refuse(504, SessionEnd::UpstreamTimeout)
            }
            _ if self.waits_for_client() => Leave::close(SessionEnd::ClientTimeout),
            _ => Leave::close(SessionEnd::UpstreamTimeout),
        }
    }

    /// How long may be waited now: for the handshake (`proxy_connect_timeout`), between two writes to
    /// the client (`send_timeout`), or else between two writes of the request, then for the whole head
    /// of the answer, then between two reads of its body (`proxy_send_timeout`,
    /// `proxy_read_timeout`).
    pub(super) fn timeout(&self, toggles: &ProxyToggles) -> Duration {
        let timeout = match &self.stage {
            Stage::Connecting(_) => toggles.connect_timeout,
            _ if self.waits_for_client() => toggles.send_timeout,
            _ => toggles.upstream_timeout,
        };
        timeout.as_duration()
    }

    /// Whether something of the answer is to be sent.
    fn waits_for_client(&self) -> bool {
        match &self.stage {
            Stage::Connecting(_) | Stage::Sending(_) | Stage::ReadingHead(_) => false,
            Stage::Relaying(relay) => relay.waits_for_client(),
            Stage::Buffering(buffered) => buffered.waits_for_client(),
        }
    }

    /// Does what is to be done in this stage, and goes on to the next.
    pub(super) fn go_on(
        &mut self,
        cx: &mut Context<'_, impl Env<Stream = S>>,
    ) -> ControlFlow<Leave<S>> {
        let Self { stage, upstream } = self;
        match stage {
            Stage::Connecting(request) => {
                finish_connect(upstream, cx)?;
                *stage = Stage::Sending(mem::take(request));
            }
            Stage::Sending(request) => {
                send_request(upstream, request, cx)?;
                *stage = Stage::ReadingHead(Vec::new());
            }
            Stage::ReadingHead(head) => *stage = read_head(upstream, head, cx)?,
            Stage::Relaying(relay) => {
                let end = relay.run(upstream, cx).map_break(Leave::Stop)?;
                return Break(Leave::relayed(end));
            }
            Stage::Buffering(buffered) => {
                let end = buffered.run(upstream, cx).map_break(Leave::Stop)?;
                // The upstream is let go, however long the client takes
                // (`ngx_http_upstream_process_request`).
                cx.log.upstream_over(cx.env.cached_ms());
                let rest = buffered.take_rest();
                return Break(Leave::Enter(Phase::Delivering { rest, end }));
            }
        }
        Continue(())
    }
}

/// Looks whether the handshake is decided.
fn finish_connect<E: Env>(
    upstream: &mut Connection<E::Stream>,
    cx: &mut Context<'_, E>,
) -> ControlFlow<Leave<E::Stream>> {
    if !upstream.ready.writable {
        return Break(Leave::blocked(StepEnd::UpstreamFull));
    }
    match upstream.stream.connect_state() {
        Ok(ConnectState::Done) => {
            cx.log.connected(cx.env.now(), cx.env.cached_ms());
            cx.moved = true;
            Continue(())
        }
        Ok(ConnectState::Pending) => {
            upstream.clear_writable();
            Break(Leave::blocked(StepEnd::UpstreamFull))
        }
        Err(error) => Break(cx.refuse_upstream(&error)),
    }
}

/// Sends what is left of the request.
fn send_request<E: Env>(
    upstream: &mut Connection<E::Stream>,
    request: &mut Buffer,
    cx: &mut Context<'_, E>,
) -> ControlFlow<Leave<E::Stream>> {
    while !request.is_empty() {
        match upstream.write(request.held()) {
            IoResult::Bytes(sent) => {
                cx.moved = true;
                request.gone(sent);
            }
            IoResult::Blocked => return Break(Leave::blocked(StepEnd::UpstreamFull)),
            IoResult::End | IoResult::Broken => {
                return Break(cx.refuse(502, SessionEnd::UpstreamClosedEarly));
            }
        }
    }
    Continue(())
}

/// Reads until the head is complete or wrong, nothing more is there, or the policy ends the step.
fn read_head<E: Env>(
    upstream: &mut Connection<E::Stream>,
    head: &mut Vec<u8>,
    cx: &mut Context<'_, E>,
) -> ControlFlow<Leave<E::Stream>, Stage> {
    let offered = cx.env.limits().toggles.buffer.as_usize();
    loop {
        match upstream.read_onto(head, offered) {
            IoResult::Bytes(got) => {
                cx.apply_read_policy(upstream, ReadDone { got, offered });
            }
            IoResult::Blocked => return Break(Leave::blocked(StepEnd::UpstreamEmpty)),
            IoResult::End | IoResult::Broken => {
                return Break(cx.refuse(502, SessionEnd::UpstreamClosedEarly));
            }
        }
        match final_head(head, cx.method) {
            Ok(Parsed::Partial) => cx.after_read.map_break(Leave::Stop)?,
            // The policy speaks of reads, not of heads: what is read is handed on first.
            Ok(Parsed::Complete { head: answer, len }) => {
                let rest = head.get(len..).unwrap_or_default();
                return match begin_relay(&answer, len, rest, cx) {
                    Ok(relaying) => Continue(relaying),
                    Err(_) => Break(cx.refuse(502, SessionEnd::UpstreamBadHead)),
                };
            }
            Err(_) => return Break(cx.refuse(502, SessionEnd::UpstreamBadHead)),
        }
    }
}

/// The head in `read`, behind interim ones (RFC 9110 15.2), which are dropped.
fn final_head(read: &mut Vec<u8>, method: &Method) -> Result<Parsed<ResponseHead>, HeadError> {
    loop {
        match http1::parse_response(read, HeadLimit::default(), method)? {
            Parsed::Complete { head, len } if (100..200).contains(&head.status) => {
                read.drain(..len);
            }
            found => return Ok(found),
        }
    }
}

/// The stage behind a head of `len` bytes, with which the first bytes of its body came.
///
/// # Errors
/// The body is broken in these bytes.
fn begin_relay<E: Env>(
    answer: &ResponseHead,
    len: usize,
    rest: &[u8],
    cx: &mut Context<'_, E>,
) -> Result<Stage, FramingError> {
    let mut body = Body::new(answer.body);
    let rest = rest.get(..body.advance(rest)?.take).unwrap_or_default();
    let mut head = answer.encode_for_client();
    cx.log.head_complete(cx.env.now(), cx.env.cached_ms());
    cx.log.answer_begins(answer.status, head.len());
    cx.moved = true;
    let limits = cx.env.limits();
    let Some(buffering) = &limits.buffering else {
        head.extend_from_slice(rest);
        return Ok(Stage::Relaying(Relay::new(body, Buffer::holding(head))));
    };
    let when_short = match answer.body {
        BodyFraming::Chunked => WhenShort::GoesOn,
        _ => WhenShort::Waits,
    };
    let size = limits.toggles.buffer.as_usize();
    let first = Buffer::behind_head(size, len, rest);
    let pages = Pages::new(size, first, buffering.file_max, when_short);
    Ok(Stage::Buffering(Box::new(Buffered::new(body, Buffer::holding(head), pages))))
}
