//! One downstream connection and at most one upstream connection, from accept to close.
//!
//! A session does all it can in one [`Session::step`] and says what ended it. It touches the world
//! through [`Stream`] and [`Env`] alone, so that a simulation can drive it.
//!
//! Not for: waiting, waking, clocks or records of steps: that is the worker's.
//!
//! Invariants:
//! - A step ends only by EAGAIN or a short write, by the read policy, or by the end of the session,
//!   which is the proxy's end at the latest.
//! - Once an answer's head is on its way the logged status does not change.

mod answer;
mod buffered;
mod gzip;
mod limits;
mod log;
mod outbox;
mod phase;
mod relay;
mod request;
mod side;
mod steps;
mod upstream;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use http1::{Body, Method};
use records::{Bytes, MonoNs, SessionEnd, StepEnd};

pub(crate) use self::buffered::TempFile;
pub(crate) use self::gzip::GzipLevel;
pub(crate) use self::limits::{Buffering, Limits};
pub(crate) use self::side::{ConnectState, Event, Stream};

use self::buffered::Buffered;
use self::gzip::Gzip;
use self::log::Log;
use self::outbox::Outbox;
use self::phase::{Happening, Phase};
use self::side::Side;
use crate::policy::{AfterRead, ReadLimit};

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
    pub(crate) ended_by: StepEnd,
    /// Bytes read from the upstream.
    pub(crate) bytes: Bytes,
    /// Reads from the upstream that returned data.
    pub(crate) reads: u64,
    /// What the worker should do next.
    pub(crate) next: Next,
}

/// What the worker should do with a session after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Run it when an event for it arrives.
    Wait,
    /// Run it after the next poll: it yielded.
    Again,
    /// Close it.
    Close(SessionEnd),
}

/// How a phase goes on within a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    /// There may be more to do.
    Continue,
    /// Nothing more can be done until an event.
    Blocked(StepEnd),
    /// There is more to do, but not in this step.
    Yield,
    /// It is over.
    Close(SessionEnd),
}

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Session<S> {
    /// `None`: the answer passes unbuffered. First of all, so that a temporary file is closed before
    /// the client's connection is, as in nginx (`ngx_http_free_request`).
    buffered: Option<Box<Buffered>>,
    client_addr: SocketAddr,
    client: Side<S>,
    upstream: Option<Side<S>>,
    phase: Phase,
    /// The head under way: the client's, then the upstream's.
    head: Vec<u8>,
    method: Method,
    /// The level at which the answer may be compressed; `None`: it may not.
    gzip: Option<GzipLevel>,
    /// Bytes on their way upstream, then to the client.
    out: Outbox,
    body: Body,
    /// `None`: the answer goes out as it came.
    compressor: Option<Box<Gzip>>,
    /// All of the answer was read, and how the session ends when it is sent.
    over: Option<SessionEnd>,
    read_limit: ReadLimit,
    /// What the last read of this step meant: the step goes by it once what was read is handed on.
    after_read: AfterRead,
    /// How the session ends once its own answer is sent.
    answer_end: SessionEnd,
    log: Log,
    deadline: MonoNs,
    /// When the client is lingered over no longer, whatever it says; `None`: it is not yet.
    linger_until: Option<MonoNs>,
    /// Whether this step moved a byte or a phase; an unmoved session keeps its deadline.
    moved: bool,
    step_bytes: u64,
    step_reads: u64,
}

impl<S: Stream> Session<S> {
    /// A session on an accepted connection, which has had no event yet.
    pub(crate) fn new(client: S, client_addr: SocketAddr, env: &impl Env<Stream = S>) -> Self {
        let limits = env.limits();
        Self {
            buffered: None,
            client_addr,
            client: Side::new(client),
            upstream: None,
            phase: Phase::ReadingRequest,
            head: Vec::new(),
            method: Method::Get,
            gzip: None,
            out: Outbox::default(),
            body: Body::new(http1::BodyFraming::Empty),
            compressor: None,
            over: None,
            read_limit: ReadLimit::new(limits.read_policy),
            after_read: AfterRead::Continue,
            answer_end: SessionEnd::Completed,
            log: Log::new(env.now()),
            deadline: env.now() + limits.header_timeout,
            linger_until: None,
            moved: false,
            step_bytes: 0,
            step_reads: 0,
        }
    }

    /// The client's address.
    pub(crate) fn client_addr(&self) -> SocketAddr {
        self.client_addr
    }

    /// When [`Self::on_deadline`] is due.
    pub(crate) fn deadline(&self) -> MonoNs {
        self.deadline
    }

    /// Takes in an event; the next step acts on it.
    pub(crate) fn on_event(&mut self, peer: Peer, event: Event) {
        match (peer, &mut self.upstream) {
            (Peer::Client, _) => self.client.on_event(event),
            (Peer::Upstream, Some(upstream)) => {
                upstream.on_event(event);
                if event.readable || event.hung_up {
                    self.read_limit.on_readable();
                }
            }
            // It was closed while its event was on the way.
            (Peer::Upstream, None) => {}
        }
    }

    /// Does all that can be done now.
    pub(crate) fn step(&mut self, env: &mut impl Env<Stream = S>) -> Step {
        self.begin_step(env);
        let flow = self.go_on(env);
        self.end_step(flow, env)
    }

    fn go_on(&mut self, env: &mut impl Env<Stream = S>) -> Flow {
        loop {
            // An answered client that closes ends the relay as well; whether it is 499 is the log's
            // matter (`ngx_http_upstream_finalize_request`).
            if self.phase.is_upstream_exchange() && self.client.ready().hung_up {
                return Flow::Close(SessionEnd::ClientClosed);
            }
            let flow = match self.phase {
                Phase::ReadingRequest => self.read_request(env),
                Phase::Connecting => self.finish_connect(env),
                Phase::SendingRequest => self.send_request(),
                Phase::ReadingHead => self.read_head(env),
                Phase::Relaying => self.relay(env),
                Phase::Answering => self.send_answer(env),
                Phase::Lingering => self.linger(env),
            };
            if flow != Flow::Continue {
                return flow;
            }
        }
    }

    /// The deadline has passed: whoever was waited for was too slow.
    pub(crate) fn on_deadline(&mut self, env: &mut impl Env<Stream = S>) -> Step {
        self.begin_step(env);
        let flow = match self.phase {
            Phase::ReadingRequest if self.head.is_empty() => Flow::Close(SessionEnd::ClientTimeout),
            Phase::ReadingRequest => self.refuse(408, SessionEnd::ClientTimeout),
            Phase::Connecting | Phase::SendingRequest | Phase::ReadingHead => {
                self.refuse(504, SessionEnd::UpstreamTimeout)
            }
            Phase::Relaying if self.waits_for_client() => Flow::Close(SessionEnd::ClientTimeout),
            Phase::Relaying => Flow::Close(SessionEnd::UpstreamTimeout),
            Phase::Answering | Phase::Lingering => Flow::Close(self.answer_end),
        };
        let flow = if flow == Flow::Continue { self.go_on(env) } else { flow };
        self.end_step(flow, env)
    }

    /// What is told of the session once it is closed.
    pub(crate) fn record(&self, end: SessionEnd, env: &impl Env<Stream = S>) -> records::Session {
        self.log.record(self.client_addr.port(), self.phase, end, env)
    }

    /// Counts a step, by the true clock.
    pub(crate) fn count_step(&mut self, start: MonoNs, end: MonoNs, ended_by: StepEnd) {
        self.log.count_step(start, end, ended_by);
    }

    #[cfg(test)]
    fn has_upstream(&self) -> bool {
        self.upstream.is_some()
    }

    fn begin_step(&mut self, env: &impl Env<Stream = S>) {
        self.moved = false;
        self.step_bytes = 0;
        self.step_reads = 0;
        self.after_read = AfterRead::Continue;
        self.read_limit.begin_step(env.now());
    }

    fn end_step(&mut self, flow: Flow, env: &impl Env<Stream = S>) -> Step {
        let (ended_by, next) = match flow {
            Flow::Continue | Flow::Yield => (StepEnd::Quota, Next::Again),
            Flow::Blocked(by) => (by, Next::Wait),
            Flow::Close(end) => (StepEnd::Closed, Next::Close(end)),
        };
        // The whole request head has one deadline, whatever drips in.
        if self.moved && self.phase != Phase::ReadingRequest {
            let (now, limits) = (env.now(), env.limits());
            self.deadline = now + self.timeout(limits);
            if self.phase == Phase::Lingering {
                let until = *self.linger_until.get_or_insert(now + limits.linger_time);
                self.deadline = self.deadline.min(until);
            }
        }
        Step { ended_by, bytes: Bytes(self.step_bytes), reads: self.step_reads, next }
    }

    /// Whether something of the answer is to be sent.
    fn waits_for_client(&self) -> bool {
        let drained = self.buffered.as_ref().is_none_or(|buffered| buffered.is_drained());
        !(self.out.is_empty() && drained)
    }

    fn timeout(&self, limits: &Limits) -> Duration {
        match self.phase {
            Phase::ReadingRequest => limits.header_timeout,
            Phase::Connecting => limits.connect_timeout,
            Phase::SendingRequest | Phase::ReadingHead => limits.upstream_timeout,
            Phase::Relaying if !self.waits_for_client() => limits.upstream_timeout,
            Phase::Relaying | Phase::Answering => limits.send_timeout,
            Phase::Lingering => limits.linger_timeout,
        }
    }

    /// Moves on; a happening that cannot be here ends the session rather than the worker.
    fn advance(&mut self, happening: Happening) -> Flow {
        match self.phase.after(happening) {
            Some(phase) => {
                self.phase = phase;
                self.moved = true;
                Flow::Continue
            }
            None => Flow::Close(SessionEnd::LocalError),
        }
    }
}

#[cfg(test)]
mod tests;
