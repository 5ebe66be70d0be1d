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

mod buffered;
mod client;
mod connection;
mod log;
mod phase;
mod relay;
mod upstream;

use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow::Continue;
use std::path::PathBuf;

use http1::Method;
use records::{Bytes, MonoNs, SessionEnd};

pub(crate) use self::buffered::TempFile;
pub(crate) use self::connection::{ConnectState, Event, Stream};

use self::connection::Connection;
use self::log::Log;
use self::phase::{Context, Phase};
use crate::policy::{ReadLimit, StepReads, Stop};
use records::ProxyToggles;

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

/// What a session may take, the same for all sessions of a proxy.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) toggles: ProxyToggles,
    /// Value of the Host header sent upstream.
    pub(crate) upstream_host: String,
    /// `None`: answers pass unbuffered.
    pub(crate) buffering: Option<Buffering>,
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
    /// What it read from the upstream, and when it began.
    pub(crate) read: StepReads,
    /// When it ended, by the true clock.
    pub(crate) end: MonoNs,
}

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Session<S> {
    /// First of all, so that a temporary file and the upstream connection are closed before the
    /// client's is, as in nginx.
    phase: Phase<S>,
    client: Connection<S>,
    pub(crate) client_addr: SocketAddr,
    /// Of the request, once it is known.
    method: Method,
    limit: ReadLimit,
    log: Log,
    /// When [`Self::on_deadline`] is due.
    pub(crate) deadline: MonoNs,
}

impl<S: Stream> Session<S> {
    /// A session on a connection that was accepted `now`, and has had no event yet.
    pub(crate) fn new(
        client: S,
        client_addr: SocketAddr,
        toggles: &ProxyToggles,
        now: MonoNs,
    ) -> Self {
        Self {
            phase: Phase::ReadingRequest(Vec::new()),
            client: Connection::new(client),
            client_addr,
            method: Method::Get,
            limit: ReadLimit::new(toggles.read_policy),
            log: Log::new(client_addr.port(), now),
            // `client_header_timeout`
            deadline: now + toggles.header_timeout.as_duration(),
        }
    }

    /// Remembers an event; the next step acts on it.
    pub(crate) fn on_event(&mut self, peer: Peer, event: Event) {
        match (peer, &mut self.phase) {
            (Peer::Client, _) => self.client.on_event(event),
            (Peer::Upstream, Phase::Proxying(exchange)) => {
                exchange.on_event(event);
                if event.readable || event.hung_up {
                    self.limit.on_readable();
                }
            }
            // It was closed while its event was on the way.
            (Peer::Upstream, _) => {}
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
        go: impl FnOnce(&mut Phase<S>, &mut Context<'_, E>) -> Stop,
    ) -> Step {
        let Self { phase, client, method, limit, log, .. } = self;
        limit.begin_step(env.now());
        let mut cx =
            Context { env, client, method, limit, log, after_read: Continue(()), moved: false };
        let stop = go(phase, &mut cx);
        let (moved, end) = (cx.moved, cx.env.now());
        if moved && let Some(deadline) = phase.deadline(end, &env.limits().toggles) {
            self.deadline = deadline;
        }
        let read = limit.step;
        log.count_step(read.start, end, stop.ended_by());
        Step { stop, read, end }
    }

    /// What is told of the session once it is closed `now`, but for what only its worker knows;
    /// `cached_ms` is the worker's cached clock.
    pub(crate) fn record(&self, end: SessionEnd, now: MonoNs, cached_ms: u64) -> records::Session {
        self.log.record(end, now, cached_ms)
    }

    #[cfg(test)]
    fn has_upstream(&self) -> bool {
        matches!(self.phase, Phase::Proxying(_))
    }
}

#[cfg(test)]
mod tests;
