//! The phases of a session, and how a step goes through them.

use std::ops::ControlFlow::{self, Break, Continue};

use http1::Method;
use records::{MonoNs, SessionEnd, StepEnd};

use super::buffered::Delivery;
use super::client::{LINGER_TIME, LINGER_TIMEOUT};
use super::connection::{Buffer, Connection};
use super::log::Log;
use super::upstream::Exchange;
use super::{Env, Stream};
use crate::policy::{ReadDone, ReadLimit, Stop};
use records::ProxyToggles;

/// Where a session stands between two steps, with all that belongs to that.
#[derive(Debug)]
pub(super) enum Phase<S> {
    /// The client's request head is not complete: as much of it as there is.
    ReadingRequest(Vec<u8>),
    /// There is an upstream connection: an answer is asked for and passed on.
    Proxying(Exchange<S>),
    /// All of a buffered answer was read; the client has yet to take the rest.
    Delivering {
        rest: Box<Delivery>,
        /// How the session ends then.
        end: SessionEnd,
    },
    /// An answer of our own (an error) moves to the client.
    Answering { answer: Buffer, end: SessionEnd },
    /// Everything is sent; what the client still sends is thrown away, so that closing does not
    /// reset the connection under the answer (nginx's `lingering_close`).
    Lingering {
        end: SessionEnd,
        /// When it is over, whatever the client says; `None`: no step has ended here yet.
        until: Option<MonoNs>,
    },
}

/// How a phase is left.
#[derive(Debug)]
pub(super) enum Leave<S> {
    /// The step ends, and the phase goes on with the next one.
    Stop(Stop),
    /// The step goes on in another phase.
    Enter(Phase<S>),
    /// All of the answer is sent. How the session ends.
    Sent(SessionEnd),
}

impl<S> Leave<S> {
    pub(super) const fn blocked(by: StepEnd) -> Self {
        Self::Stop(Stop::Blocked(by))
    }

    pub(super) const fn close(end: SessionEnd) -> Self {
        Self::Stop(Stop::Close(end))
    }

    /// All is sent of an answer that the upstream has ended as `end`.
    pub(super) const fn relayed(end: SessionEnd) -> Self {
        match end {
            SessionEnd::Completed => Self::Sent(end),
            end => Self::close(end),
        }
    }
}

impl<S: Stream> Phase<S> {
    /// Goes on from phase to phase until the step ends.
    pub(super) fn go_on(&mut self, cx: &mut Context<'_, impl Env<Stream = S>>) -> Stop {
        loop {
            let went = match self {
                // An answered client that closes ends the relay as well; whether it is 499 is the
                // log's matter (`ngx_http_upstream_check_broken_connection`,
                // `ngx_http_upstream_finalize_request`).
                Self::Proxying(_) | Self::Delivering { .. } if cx.client.ready.hung_up => {
                    Break(Leave::close(SessionEnd::ClientClosed))
                }
                Self::ReadingRequest(head) => cx.read_request(head),
                Self::Proxying(exchange) => exchange.go_on(cx),
                Self::Delivering { rest, end } => Break(rest.deliver(*end, cx)),
                Self::Answering { answer, end } => match cx.flush(answer) {
                    Continue(()) => Break(Leave::Sent(*end)),
                    Break(stop) => Break(Leave::Stop(stop)),
                },
                Self::Lingering { end, .. } => Break(Leave::Stop(cx.linger(*end))),
            };
            if let Break(leave) = went
                && let Break(stop) = self.leave(leave, cx)
            {
                return stop;
            }
        }
    }

    /// Whoever was waited for was too slow.
    pub(super) fn on_deadline(&mut self, cx: &mut Context<'_, impl Env<Stream = S>>) -> Stop {
        let leave = match self {
            Self::ReadingRequest(head) if head.is_empty() => {
                Leave::close(SessionEnd::ClientTimeout)
            }
            Self::ReadingRequest(_) => cx.refuse(408, SessionEnd::ClientTimeout),
            Self::Proxying(exchange) => exchange.on_deadline(cx),
            Self::Delivering { .. } => Leave::close(SessionEnd::ClientTimeout),
            Self::Answering { end, .. } | Self::Lingering { end, .. } => Leave::close(*end),
        };
        match self.leave(leave, cx) {
            Continue(()) => self.go_on(cx),
            Break(stop) => stop,
        }
    }

    fn leave(
        &mut self,
        leave: Leave<S>,
        cx: &mut Context<'_, impl Env<Stream = S>>,
    ) -> ControlFlow<Stop> {
        match leave {
            Leave::Stop(stop) => return Break(stop),
            Leave::Enter(phase) => *self = phase,
            Leave::Sent(end) => {
                // This lets the upstream go, before the client is looked at.
                *self = Self::Lingering { end, until: None };
                cx.finish(end)?;
            }
        }
        Continue(())
    }

    /// Until when may be waited from `now` on; `None`: as long as was said before, since the whole
    /// request head has one deadline, whatever drips in.
    pub(super) fn deadline(&mut self, now: MonoNs, toggles: &ProxyToggles) -> Option<MonoNs> {
        match self {
            Self::ReadingRequest(_) => None,
            Self::Proxying(exchange) => Some(now + exchange.timeout(toggles)),
            Self::Delivering { .. } | Self::Answering { .. } => {
                Some(now + toggles.send_timeout.as_duration())
            }
            Self::Lingering { until, .. } => {
                let until = *until.get_or_insert(now + LINGER_TIME);
                Some(until.min(now + LINGER_TIMEOUT))
            }
        }
    }
}

/// A step under way: what it works on in every phase, and what is known of it.
pub(super) struct Context<'a, E: Env> {
    pub(super) env: &'a mut E,
    pub(super) client: &'a mut Connection<E::Stream>,
    pub(super) method: &'a mut Method,
    pub(super) limit: &'a mut ReadLimit,
    pub(super) log: &'a mut Log,
    /// What the policy said of the last read: the step goes by it once what was read is handed on.
    pub(super) after_read: ControlFlow<Stop>,
    /// Whether it moved a byte or a phase; an unmoved session keeps its deadline.
    pub(super) moved: bool,
}

impl<E: Env> Context<'_, E> {
    /// Counts a read from the upstream and asks the policy what it means.
    pub(super) fn apply_read_policy(
        &mut self,
        upstream: &mut Connection<E::Stream>,
        read: ReadDone,
    ) {
        let said = self.limit.after_read(read, || upstream.stream.unread(), || self.env.now());
        self.after_read = obey(said, upstream);
    }

    /// `bytes` of the answer were taken by the client's socket.
    pub(super) fn sent(&mut self, bytes: usize) {
        self.moved = true;
        self.log.sent(bytes);
    }
}

/// What the policy's word on a read from `peer` comes to.
pub(super) fn obey<S: Stream>(
    said: ControlFlow<Stop>,
    peer: &mut Connection<S>,
) -> ControlFlow<Stop> {
    match said {
        // After the peer's FIN no further event will come: read on to the end
        // (`if (!rev->pending_eof)` in ngx_unix_recv).
        Break(Stop::Blocked(_)) if peer.ready.hung_up => Continue(()),
        Break(Stop::Blocked(by)) => {
            peer.clear_readable();
            Break(Stop::Blocked(by))
        }
        other => other,
    }
}
