//! What a session will be remembered by: true times for the records, cached times for the log.

use records::{Bytes, LogTimes, MonoNs, SessionEnd, StepEnd};

use super::phase::Phase;
use super::steps::Steps;
use super::{Env, Stream};

/// nginx's own status for a client that closed before an answer's head was sent.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// Notes taken while a session lives.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) request: String,
    /// Status of the answer; `None`: none was begun.
    pub(super) status: Option<u16>,
    pub(super) upstream_port: Option<u16>,
    accepted_ns: MonoNs,
    request_ns: Option<MonoNs>,
    connected_ns: Option<MonoNs>,
    head_ns: Option<MonoNs>,
    /// First byte of the request read (`r->start_msec`), cached clock.
    asked_ms: Option<u64>,
    /// Upstream connect begun (`u->start_time`), cached clock.
    dialed_ms: Option<u64>,
    connect_ms: Option<u64>,
    header_ms: Option<u64>,
    /// From the connect's begin to the upstream's end, where the session outlives it.
    response_ms: Option<u64>,
    /// Head bytes of the answer that are still to be sent.
    head_left: u64,
    body_sent: u64,
    steps: Steps,
}

impl Log {
    pub(super) fn new(now: MonoNs) -> Self {
        Self {
            request: String::new(),
            status: None,
            upstream_port: None,
            accepted_ns: now,
            request_ns: None,
            connected_ns: None,
            head_ns: None,
            asked_ms: None,
            dialed_ms: None,
            connect_ms: None,
            header_ms: None,
            response_ms: None,
            head_left: 0,
            body_sent: 0,
            steps: Steps::default(),
        }
    }

    /// The first byte of a request was read.
    pub(super) fn asked<S: Stream>(&mut self, env: &impl Env<Stream = S>) {
        self.asked_ms.get_or_insert(env.cached_ms());
    }

    /// The request's head is complete.
    pub(super) fn request_complete<S: Stream>(&mut self, env: &impl Env<Stream = S>) {
        self.request_ns = Some(env.now());
    }

    /// The upstream connect has begun.
    pub(super) fn dialed<S: Stream>(&mut self, env: &impl Env<Stream = S>) {
        self.dialed_ms = Some(env.cached_ms());
    }

    /// The upstream connection stands.
    pub(super) fn connected<S: Stream>(&mut self, env: &impl Env<Stream = S>) {
        self.connected_ns = Some(env.now());
        self.connect_ms = self.dialed_ms.map(|since| env.cached_ms().saturating_sub(since));
    }

    /// The upstream's head is complete.
    pub(super) fn head_complete<S: Stream>(&mut self, env: &impl Env<Stream = S>) {
        self.head_ns = Some(env.now());
        self.header_ms = self.dialed_ms.map(|since| env.cached_ms().saturating_sub(since));
    }

    /// The upstream's part is over before the session is.
    pub(super) fn upstream_over<S: Stream>(&mut self, env: &impl Env<Stream = S>) {
        self.response_ms = self.dialed_ms.map(|since| env.cached_ms().saturating_sub(since));
    }

    /// An answer begins whose head has `head` bytes.
    pub(super) fn answer_begins(&mut self, status: u16, head: usize) {
        self.status = Some(status);
        self.head_left = head as u64;
    }

    /// `bytes` of the answer were taken by the client's socket.
    pub(super) fn sent(&mut self, bytes: usize) {
        let of_head = self.head_left.min(bytes as u64);
        self.head_left -= of_head;
        self.body_sent += bytes as u64 - of_head;
    }

    /// A step was made from `start` to `end`.
    pub(super) fn count_step(&mut self, start: MonoNs, end: MonoNs, ended_by: StepEnd) {
        self.steps.add(start, end, ended_by, self.head_ns);
    }

    /// Status as nginx would log it: what was answered; else 499 when the client closed a request
    /// that was complete, 400 when it closed inside its head, 0 when it asked nothing.
    fn logged_status(&self, phase: Phase, end: SessionEnd) -> u16 {
        match (self.status, end) {
            (Some(status), _) if phase.is_answered() => status,
            _ if self.request_ns.is_some() => match end {
                SessionEnd::ClientClosed | SessionEnd::ClientReset => CLIENT_CLOSED_REQUEST,
                SessionEnd::UpstreamTimeout => 504,
                _ => 502,
            },
            _ if self.asked_ms.is_some() => 400,
            _ => 0,
        }
    }

    pub(super) fn record<S: Stream>(
        &self,
        client_port: u16,
        phase: Phase,
        end: SessionEnd,
        env: &impl Env<Stream = S>,
    ) -> records::Session {
        let since = |start: Option<u64>| start.map(|ms| env.cached_ms().saturating_sub(ms));
        records::Session {
            worker: 0,
            session: 0,
            client_port,
            upstream_port: self.upstream_port,
            request: self.request.clone(),
            status: self.logged_status(phase, end),
            end,
            body_bytes: Bytes(self.body_sent),
            accepted_ns: self.accepted_ns,
            request_ns: self.request_ns,
            connected_ns: self.connected_ns,
            head_ns: self.head_ns,
            closed_ns: env.now(),
            log: LogTimes {
                at_unix_ms: 0,
                rt_ms: since(self.asked_ms).unwrap_or(0),
                uct_ms: self.connect_ms,
                uht_ms: self.header_ms,
                urt_ms: self.response_ms.or(since(self.dialed_ms)),
            },
            steps: self.steps.count(),
            longest_step_us: self.steps.longest(),
            steps_us: self.steps.sum(),
            stalled_upstream_us: self.steps.stalled_by_upstream(),
            stalled_client_us: self.steps.stalled_by_client(),
        }
    }
}
