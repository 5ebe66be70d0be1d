//! One downstream connection and at most one upstream connection, from accept to close.
//!
//! A session does all it can in one [`Session::step`] and says what ended it. It touches the world
//! through [`Stream`] and [`Env`] alone, so that a simulation can drive it.
//!
//! ```text
//! ReadingRequest -> Connecting -> Sending -> ReadingHead -> Relaying or Buffering -> Lingering
//!        |              |            |            |                                      ^
//!        '--------------'------------'------------'-----------> Answering ---------------'
//! ```
//!
//! Not for: waiting, waking, clocks or records of steps: that is the worker's.
//!
//! Invariants:
//! - A step ends only by EAGAIN or a short write, by the read policy, or by the end of the session,
//!   which is the proxy's end at the latest.
//! - What belongs to a phase is made when it begins and freed when it ends; the upstream connection is
//!   closed as soon as nothing more is to come of it.
//! - Once an answer's head is on its way the logged status does not change.

mod buffered;
mod client;
mod connection;
mod log;
mod upstream;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow::{self, Break, Continue};
use std::time::Duration;

use records::{Accepted, Hold, MonoNs, ProxyToggles, ReadPolicy, SessionEnd, StepEnd};

pub(crate) use self::buffered::{TempFile, temp_file};
pub(crate) use self::connection::{Event, Stream};

use self::buffered::Buffered;
use self::connection::{Buffer, Connection};
use self::log::Log;
use self::upstream::Relay;
use crate::policy::{ReadDone, ReadLimit, Stop};

/// For a client's whole request head, for a handshake with the upstream, for the whole head of its answer,
/// between two reads of the answer's body, and between two writes to either: nginx's defaults of
/// `client_header_timeout`, `send_timeout`, `proxy_connect_timeout`, `proxy_read_timeout` and
/// `proxy_send_timeout`.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Between two reads of what the client says once all is sent (`lingering_timeout`).
const LINGER_TIMEOUT: Duration = Duration::from_secs(5);

/// For all of what it says then (`lingering_time`).
const LINGER_TIME: Duration = Duration::from_secs(30);

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
    /// Toggles, and what follows from them.
    fn limits(&self) -> &Limits;
}

/// What a session does and may take, the same for all sessions of a proxy.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) toggles: ProxyToggles,
    pub(crate) upstream: SocketAddr,
    /// Sessions of a worker at a time (`worker_connections`).
    pub(crate) connections: usize,
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
    /// What is told of it if it was a hold, but for the loop turn, which its worker knows.
    pub(crate) hold: Hold,
}

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Session<S> {
    /// First of all, so that a temporary file and the upstream connection are closed before the
    /// client's is, as in nginx.
    phase: Phase,
    upstream: Connection<S>,
    client: Connection<S>,
    pub(crate) client_ip: IpAddr,
    /// Of the request, once it is known.
    method: String,
    limit: ReadLimit,
    log: Log,
    /// When [`Self::on_deadline`] is due.
    pub(crate) deadline: MonoNs,
}

/// Where a session stands between two steps, with all that belongs to that.
#[derive(Debug)]
enum Phase {
    /// The client's request head is not complete: as much of it as there is.
    ReadingRequest(Vec<u8>),
    /// The handshake with the upstream is under way; the request waits for it.
    Connecting(Buffer),
    /// The request is on its way.
    Sending(Buffer),
    /// The answer's head is not complete: as much of it as there is.
    ReadingHead(Vec<u8>),
    /// The answer's body moves to the client,
    Relaying(Relay),
    /// or into pages, and from there to the client or into a file.
    Buffering(Box<Buffered>),
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

impl<S: Stream> Session<S> {
    /// A session on a connection from `client_ip` that was just accepted, and has had no event yet.
    pub(crate) fn new(
        client: S,
        client_ip: IpAddr,
        policy: ReadPolicy,
        accepted: &Accepted,
    ) -> Self {
        Self {
            phase: Phase::ReadingRequest(Vec::new()),
            upstream: Connection::closed(),
            client: Connection::new(client),
            client_ip,
            method: String::new(),
            limit: ReadLimit::new(policy),
            log: Log::new(accepted),
            deadline: accepted.at_ns + TIMEOUT,
        }
    }

    /// Remembers an event; the next step acts on it.
    pub(crate) fn on_event(&mut self, peer: Peer, event: Event) {
        match peer {
            Peer::Client => self.client.on_event(event),
            Peer::Upstream => {
                self.upstream.on_event(event);
                if event.readable || event.hung_up {
                    self.limit.on_readable();
                }
            }
        }
    }

    /// Does all that can be done now.
    pub(crate) fn step(&mut self, env: &mut impl Env<Stream = S>) -> Step {
        self.step_by(env, Phase::go_on)
    }

    /// The deadline has passed: whoever was waited for was too slow.
    pub(crate) fn on_deadline(&mut self, env: &mut impl Env<Stream = S>) -> Step {
        self.step_by(env, Phase::on_deadline)
    }

    fn step_by<E: Env<Stream = S>>(
        &mut self,
        env: &mut E,
        go: impl FnOnce(&mut Phase, &mut Context<'_, E>) -> Stop,
    ) -> Step {
        let Self { phase, upstream, client, method, limit, log, .. } = self;
        limit.begin_step(env.now());
        let after_read = Continue(());
        let mut cx =
            Context { env, upstream, client, method, limit, log, after_read, moved: false };
        let stop = go(phase, &mut cx);
        let (moved, end) = (cx.moved, cx.env.now());
        if moved && let Some(deadline) = phase.deadline(end) {
            self.deadline = deadline;
        }
        let hold = Hold {
            worker: log.record.worker,
            session: log.record.session,
            client_port: log.record.client_port,
            end_ns: end,
            ended_by: stop.ended_by(),
            ..limit.step
        };
        log.count_step(&hold);
        Step { stop, hold }
    }

    /// What is told of the session once it is closed `now`, but for the time of day; `cached_ms` is the
    /// worker's cached clock.
    pub(crate) fn record(&self, end: SessionEnd, now: MonoNs, cached_ms: u64) -> records::Session {
        self.log.record(end, now, cached_ms)
    }
}

impl Phase {
    /// Goes on from phase to phase until the step ends.
    fn go_on(&mut self, cx: &mut Context<'_, impl Env>) -> Stop {
        loop {
            let next = match self {
                Self::ReadingRequest(head) => cx.read_request(head),
                Self::Answering { answer, end } => match cx.flush(answer) {
                    Continue(()) => cx.sent_all(*end),
                    Break(stop) => Break(stop),
                },
                Self::Lingering { end, .. } => Break(cx.linger(*end)),
                // A client that closes ends the relay as well; whether it is 499 is the log's matter
                // (`ngx_http_upstream_check_broken_connection`, `ngx_http_upstream_finalize_request`).
                _ if cx.client.ready.hung_up => Break(Stop::Close(SessionEnd::ClientClosed)),
                Self::Connecting(request) => cx.connect(request),
                Self::Sending(request) => cx.send_request(request),
                Self::ReadingHead(head) => cx.read_head(head),
                Self::Relaying(relay) => relay.run(cx),
                Self::Buffering(buffered) => buffered.run(cx),
            };
            match next {
                Continue(phase) => *self = phase,
                Break(stop) => return stop,
            }
        }
    }

    /// Whoever was waited for was too slow.
    fn on_deadline(&mut self, cx: &mut Context<'_, impl Env>) -> Stop {
        let end = match self {
            Self::ReadingRequest(head) if !head.is_empty() => {
                *self = cx.answer(408, SessionEnd::ClientTimeout);
                return self.go_on(cx);
            }
            Self::Connecting(_) | Self::Sending(_) | Self::ReadingHead(_) => {
                *self = cx.answer(504, SessionEnd::UpstreamTimeout);
                return self.go_on(cx);
            }
            Self::Relaying(relay) if relay.is_sent() => SessionEnd::UpstreamTimeout,
            Self::Buffering(buffered) if buffered.is_sent() => SessionEnd::UpstreamTimeout,
            Self::ReadingRequest(_) | Self::Relaying(_) | Self::Buffering(_) => {
                SessionEnd::ClientTimeout
            }
            Self::Answering { end, .. } | Self::Lingering { end, .. } => *end,
        };
        Stop::Close(end)
    }

    /// Until when may be waited from `now` on; `None`: as long as was said before, since the whole
    /// request head has one deadline, whatever drips in.
    fn deadline(&mut self, now: MonoNs) -> Option<MonoNs> {
        match self {
            Self::ReadingRequest(_) => None,
            Self::Lingering { until, .. } => {
                let until = *until.get_or_insert(now + LINGER_TIME);
                Some(until.min(now + LINGER_TIMEOUT))
            }
            _ => Some(now + TIMEOUT),
        }
    }
}

/// A step under way: what it works on in every phase, and what is known of it. What it does in one phase
/// says which comes next, or what ended the step.
struct Context<'a, E: Env> {
    env: &'a mut E,
    upstream: &'a mut Connection<E::Stream>,
    client: &'a mut Connection<E::Stream>,
    method: &'a mut String,
    limit: &'a mut ReadLimit,
    log: &'a mut Log,
    /// What the policy said of the last read: the step goes by it once what was read is handed on.
    after_read: ControlFlow<Stop>,
    /// Whether it moved a byte or a phase; an unmoved session keeps its deadline.
    moved: bool,
}

impl<E: Env> Context<'_, E> {
    /// Counts a read from the upstream and asks the policy what it means.
    fn apply_read_policy(&mut self, read: ReadDone) {
        let upstream = &mut *self.upstream;
        let said = self.limit.after_read(read, || upstream.unread(), || self.env.now());
        self.after_read = upstream.obey(said);
    }

    /// Whether the proxy was told to end: the step does then, and the session with it.
    fn go_on_unless_told_to_end(&self) -> ControlFlow<Stop> {
        match self.env.told_to_end() {
            true => Break(Stop::Close(SessionEnd::Shutdown)),
            false => Continue(()),
        }
    }

    /// `bytes` of the answer were taken by the client's socket.
    fn sent(&mut self, bytes: usize) {
        self.moved = true;
        self.log.sent(bytes);
    }
}

/// Nothing more can be done until an event.
const fn blocked<T>(by: StepEnd) -> ControlFlow<Stop, T> {
    Break(Stop::Blocked(by))
}

#[cfg(test)]
mod tests;
