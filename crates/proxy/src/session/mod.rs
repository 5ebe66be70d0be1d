//! One downstream connection and at most one upstream connection, from accept to close.
//!
//! A session does all it can in one [`Session::step`] and says what ended it. It touches the world
//! through [`Stream`] and [`Env`] alone, so that a simulation can drive it.
//!
//! ```text
//! ReadingRequest -> Proxying: Connecting -> Sending -> ReadingHead -> Relaying ------> Lingering
//!        |                        |            |            |   '---> Buffering          ^
//!        |                        |            |            |             '-> Delivering-'
//!        '------------------------'------------'------------'-------> Answering ---------'
//! ```
//!
//! Not for: waiting, waking, clocks or records of steps: that is the worker's.
//!
//! Invariants:
//! - A step ends only by EAGAIN or a short write, by the read policy, or by the end of the session,
//!   which is the proxy's end at the latest.
//! - What belongs to a phase is made when it begins and freed when it ends.
//! - Once an answer's head is on its way the logged status does not change.

mod answer;
mod buffer;
mod buffered;
mod connection;
mod gzip;
mod log;
mod relay;
mod request;
mod upstream;

use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow::{self, Break, Continue};
use std::path::PathBuf;
use std::time::Duration;

use http1::Method;
use records::{Bytes, MonoNs, ReadPolicy, SessionEnd, StepEnd};

pub(crate) use self::buffered::TempFile;
pub(crate) use self::connection::{ConnectState, Event, Stream};
pub(crate) use self::gzip::GzipLevel;

use self::buffered::Delivery;
use self::connection::Connection;
use self::log::Log;
use self::relay::Outgoing;
use self::upstream::Exchange;
use crate::policy::{ReadDone, ReadLimit, StepReads, Stop};

/// What a session needs of its worker.
pub(crate) trait Env {
    /// A connection of this world.
    type Stream: Stream;
    /// Starts the upstream connection and watches it.
    fn dial(&mut self) -> io::Result<Self::Stream>;
    /// Makes a temporary file for one session.
    fn temp_file(&self) -> io::Result<Box<dyn TempFile>>;
    /// The true clock.
    fn now(&self) -> MonoNs;
    /// The worker's cached clock, in which nginx would log: ms since boot.
    fn cached_ms(&self) -> u64;
    /// Whether the proxy was told to end: no step goes on then.
    fn told_to_end(&self) -> bool;
    /// Sizes and times.
    fn limits(&self) -> &Limits;
}

/// What a session may take: sizes and times, the same for all sessions of a proxy.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) read_policy: ReadPolicy,
    /// Unbuffered: bytes offered to one read. Buffered: bytes of a page.
    pub(crate) buffer: Bytes,
    /// Value of the Host header sent upstream.
    pub(crate) upstream_host: String,
    /// From accept to the complete request head (`client_header_timeout`).
    pub(crate) header_timeout: Duration,
    /// For the upstream handshake (`proxy_connect_timeout`).
    pub(crate) connect_timeout: Duration,
    /// Between two writes of the request, then for the whole head of the answer, then between two
    /// reads of its body (`proxy_send_timeout`, `proxy_read_timeout`).
    pub(crate) upstream_timeout: Duration,
    /// Between two writes to the client (`send_timeout`).
    pub(crate) send_timeout: Duration,
    /// `None`: answers pass unbuffered.
    pub(crate) buffering: Option<Buffering>,
    /// For clients that ask for it; `None`: nothing is compressed.
    pub(crate) gzip: Option<GzipLevel>,
}

/// Where buffered sessions keep what their clients do not take, and how much of it.
#[derive(Clone, Debug)]
pub(crate) struct Buffering {
    /// Directory of the files (`proxy_temp_path`).
    pub(crate) dir: PathBuf,
    /// Bytes that one session writes to its file at most (`proxy_max_temp_file_size`); zero: none.
    pub(crate) file_max: Bytes,
}

/// Which of the two connections an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    Client,
    Upstream,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// What ended it.
    pub(crate) stop: Stop,
    /// What it read from the upstream.
    pub(crate) read: StepReads,
}

/// Where a session stands between two steps, with all that belongs to that.
#[derive(Debug)]
enum Phase<S> {
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
    Answering { answer: Outgoing, end: SessionEnd },
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
enum Leave<S> {
    /// The step ends, and the phase goes on with the next one.
    Stop(Stop),
    /// The step goes on in another phase.
    Enter(Phase<S>),
    /// All of the answer is sent. How the session ends.
    Sent(SessionEnd),
}

impl<S> Leave<S> {
    const fn blocked(by: StepEnd) -> Self {
        Self::Stop(Stop::Blocked(by))
    }

    const fn close(end: SessionEnd) -> Self {
        Self::Stop(Stop::Close(end))
    }

    /// All is sent of an answer that the upstream has ended as `end`.
    const fn relayed(end: SessionEnd) -> Self {
        match end {
            SessionEnd::Completed => Self::Sent(end),
            end => Self::close(end),
        }
    }
}

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Session<S> {
    /// First of all, so that a temporary file and the upstream connection are closed before the
    /// client's is, as in nginx.
    phase: Phase<S>,
    common: Common<S>,
    client_addr: SocketAddr,
    deadline: MonoNs,
}

/// What a session has in every phase.
#[derive(Debug)]
struct Common<S> {
    client: Connection<S>,
    /// Of the request, once it is known.
    method: Method,
    limit: ReadLimit,
    /// What the policy said of the last read of this step: the step goes by it once what was read is
    /// handed on.
    after_read: ControlFlow<Stop>,
    log: Log,
    /// Whether this step moved a byte or a phase; an unmoved session keeps its deadline.
    moved: bool,
}

impl<S: Stream> Session<S> {
    /// A session on an accepted connection, which has had no event yet.
    pub(crate) fn new(client: S, client_addr: SocketAddr, env: &impl Env<Stream = S>) -> Self {
        let limits = env.limits();
        let common = Common {
            client: Connection::new(client),
            method: Method::Get,
            limit: ReadLimit::new(limits.read_policy),
            after_read: Continue(()),
            log: Log::new(client_addr.port(), env.now()),
            moved: false,
        };
        let deadline = env.now() + limits.header_timeout;
        Self { phase: Phase::ReadingRequest(Vec::new()), common, client_addr, deadline }
    }

    /// The client's address.
    pub(crate) fn client_addr(&self) -> SocketAddr {
        self.client_addr
    }

    /// When [`Self::on_deadline`] is due.
    pub(crate) fn deadline(&self) -> MonoNs {
        self.deadline
    }

    /// Remembers an event; the next step acts on it.
    pub(crate) fn on_event(&mut self, peer: Peer, event: Event) {
        match (peer, &mut self.phase) {
            (Peer::Client, _) => self.common.client.on_event(event),
            (Peer::Upstream, Phase::Proxying(exchange)) => {
                exchange.on_event(event);
                if event.readable || event.hung_up {
                    self.common.limit.on_readable();
                }
            }
            // It was closed while its event was on the way.
            (Peer::Upstream, _) => {}
        }
    }

    /// Does all that can be done now.
    pub(crate) fn step(&mut self, env: &mut impl Env<Stream = S>) -> Step {
        self.common.begin_step(env);
        let stop = self.go_on(env);
        self.end_step(stop, env)
    }

    /// The deadline has passed: whoever was waited for was too slow.
    pub(crate) fn on_deadline(&mut self, env: &mut impl Env<Stream = S>) -> Step {
        self.common.begin_step(env);
        let late = match &self.phase {
            Phase::ReadingRequest(head) if head.is_empty() => {
                Leave::close(SessionEnd::ClientTimeout)
            }
            Phase::ReadingRequest(_) => self.common.refuse(408, SessionEnd::ClientTimeout),
            Phase::Proxying(exchange) => exchange.on_deadline(&mut self.common),
            Phase::Delivering { .. } => Leave::close(SessionEnd::ClientTimeout),
            Phase::Answering { end, .. } | Phase::Lingering { end, .. } => Leave::close(*end),
        };
        let stop = match self.leave(late) {
            Continue(()) => self.go_on(env),
            Break(stop) => stop,
        };
        self.end_step(stop, env)
    }

    /// What is told of the session once it is closed.
    pub(crate) fn record(&self, end: SessionEnd, env: &impl Env<Stream = S>) -> records::Session {
        self.common.log.record(end, env.now(), env.cached_ms())
    }

    /// Counts a step, by the true clock.
    pub(crate) fn count_step(&mut self, start: MonoNs, end: MonoNs, ended_by: StepEnd) {
        self.common.log.count_step(start, end, ended_by);
    }

    #[cfg(test)]
    fn has_upstream(&self) -> bool {
        matches!(self.phase, Phase::Proxying(_))
    }

    /// Goes from phase to phase until the step ends.
    fn go_on(&mut self, env: &mut impl Env<Stream = S>) -> Stop {
        loop {
            let common = &mut self.common;
            let went = match &mut self.phase {
                // An answered client that closes ends the relay as well; whether it is 499 is the
                // log's matter (`ngx_http_upstream_check_broken_connection`,
                // `ngx_http_upstream_finalize_request`).
                Phase::Proxying(_) | Phase::Delivering { .. } if common.client.ready().hung_up => {
                    Break(Leave::close(SessionEnd::ClientClosed))
                }
                Phase::ReadingRequest(head) => common.read_request(head, env),
                Phase::Proxying(exchange) => exchange.go_on(common, env),
                Phase::Delivering { rest, end } => Break(rest.deliver(*end, common, env)),
                Phase::Answering { answer, end } => match answer.flush(common, env) {
                    Continue(()) => Break(Leave::Sent(*end)),
                    Break(stop) => Break(Leave::Stop(stop)),
                },
                Phase::Lingering { end, .. } => Break(Leave::Stop(common.linger(*end, env))),
            };
            if let Break(leave) = went
                && let Break(stop) = self.leave(leave)
            {
                return stop;
            }
        }
    }

    fn leave(&mut self, leave: Leave<S>) -> ControlFlow<Stop> {
        match leave {
            Leave::Stop(stop) => return Break(stop),
            Leave::Enter(phase) => self.phase = phase,
            Leave::Sent(end) => {
                // This lets the upstream go, before the client is looked at.
                self.phase = Phase::Lingering { end, until: None };
                self.common.finish(end)?;
            }
        }
        Continue(())
    }

    fn end_step(&mut self, stop: Stop, env: &impl Env<Stream = S>) -> Step {
        if self.common.moved {
            self.put_off(env);
        }
        Step { stop, read: self.common.limit.step() }
    }

    /// Gives whoever is waited for now the whole of their time.
    fn put_off(&mut self, env: &impl Env<Stream = S>) {
        let (now, limits) = (env.now(), env.limits());
        self.deadline = match &mut self.phase {
            // The whole request head has one deadline, whatever drips in.
            Phase::ReadingRequest(_) => self.deadline,
            Phase::Proxying(exchange) => now + exchange.timeout(limits),
            Phase::Delivering { .. } | Phase::Answering { .. } => now + limits.send_timeout,
            Phase::Lingering { until, .. } => {
                let until = *until.get_or_insert(now + answer::LINGER_TIME);
                until.min(now + answer::LINGER_TIMEOUT)
            }
        };
    }
}

impl<S: Stream> Common<S> {
    fn begin_step(&mut self, env: &impl Env<Stream = S>) {
        self.moved = false;
        self.after_read = Continue(());
        self.limit.begin_step(env.now());
    }

    /// Counts a read from the upstream and asks the policy what it means.
    fn apply_read_policy(
        &mut self,
        upstream: &mut Connection<S>,
        read: ReadDone,
        env: &impl Env<Stream = S>,
    ) {
        let said = self.limit.after_read(read, || upstream.stream().unread(), || env.now());
        self.after_read = obey(said, upstream);
    }

    /// `bytes` of the answer were taken by the client's socket.
    fn sent(&mut self, bytes: usize) {
        self.moved = true;
        self.log.sent(bytes);
    }
}

/// What the policy's word on a read from `peer` comes to.
fn obey<S: Stream>(said: ControlFlow<Stop>, peer: &mut Connection<S>) -> ControlFlow<Stop> {
    match said {
        // After the peer's FIN no further event will come: read on to the end
        // (`if (!rev->pending_eof)` in ngx_unix_recv).
        Break(Stop::Blocked(_)) if peer.ready().hung_up => Continue(()),
        Break(Stop::Blocked(by)) => {
            peer.clear_readable();
            Break(Stop::Blocked(by))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
