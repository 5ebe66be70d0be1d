//! What a session will be remembered by: true times for the records, cached times for the log; its
//! steps in sum, and the times it stalled between them.
//!
//! Not for: whose fault a stall was. Between two steps the worker may as well have been busy with
//! others; what is known here is only what the first of the two had to wait for.

use records::{Accepted, Bytes, Hold, Micros, MonoNs, SessionEnd, StepEnd};

/// nginx's own status for a client that closed before an answer's head was sent.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// A gap of this length between two steps is a stall: 1 ms, in nanoseconds.
const STALL_NS: u64 = 1_000_000;

/// Notes taken while a session lives. `cached_ms` is the cached clock, all else the true one.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// As much as is known; [`Self::record`] fills in the rest.
    pub(super) record: records::Session,
    /// Status of the answer; `None`: none was begun.
    status: Option<u16>,
    /// First byte of the request read (`r->start_msec`), cached clock.
    pub(super) asked_ms: Option<u64>,
    /// Upstream connect begun (`u->start_time`), cached clock.
    pub(super) dialed_ms: Option<u64>,
    /// Head bytes of the answer that are still to be sent.
    head_left: u64,
    /// Sums in nanoseconds: most steps take a few microseconds.
    steps_ns: u64,
    longest_ns: u64,
    stalled_upstream_ns: u64,
    stalled_client_ns: u64,
    last_end: MonoNs,
    last_ended_by: Option<StepEnd>,
}

impl Log {
    /// Of a session that was just accepted.
    pub(super) fn new(accepted: &Accepted) -> Self {
        let &Accepted { worker, session, client_port, at_ns: accepted_ns } = accepted;
        let record =
            records::Session { worker, session, client_port, accepted_ns, ..Default::default() };
        Self { record, ..Self::default() }
    }

    /// The upstream connection stands.
    pub(super) fn connected(&mut self, now: MonoNs, cached_ms: u64) {
        self.record.connected_ns = Some(now);
        self.record.log.uct_ms = since(self.dialed_ms, cached_ms);
    }

    /// The upstream's head is complete.
    pub(super) fn head_complete(&mut self, now: MonoNs, cached_ms: u64) {
        self.record.head_ns = Some(now);
        self.record.log.uht_ms = since(self.dialed_ms, cached_ms);
    }

    /// The upstream's part is over before the session is.
    pub(super) fn upstream_over(&mut self, cached_ms: u64) {
        self.record.log.urt_ms = since(self.dialed_ms, cached_ms);
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
        self.record.body_bytes += Bytes(bytes as u64 - of_head);
    }

    /// A step was made.
    pub(super) fn count_step(&mut self, step: &Hold) {
        let &Hold { start_ns: start, end_ns: end, ended_by, .. } = step;
        let length = end.0.saturating_sub(start.0);
        self.record.steps += 1;
        self.steps_ns += length;
        self.longest_ns = self.longest_ns.max(length);
        let gap = start.0.saturating_sub(self.last_end.0);
        // Gaps before the answer's head are no stalls.
        if gap >= STALL_NS && self.record.head_ns.is_some_and(|head| head <= self.last_end) {
            match self.last_ended_by {
                // A short read has found the end of what was there, as EAGAIN does.
                Some(StepEnd::UpstreamEmpty | StepEnd::ShortRead) => {
                    self.stalled_upstream_ns += gap;
                }
                Some(StepEnd::DownstreamFull) => self.stalled_client_ns += gap,
                _ => {}
            }
        }
        self.last_end = end;
        self.last_ended_by = Some(ended_by);
    }

    /// All that is told of a session that ends `now` as `end`, but for the time of day.
    pub(super) fn record(&self, end: SessionEnd, now: MonoNs, cached_ms: u64) -> records::Session {
        let micros = |ns: u64| Micros(ns / 1_000);
        let mut told = self.record.clone();
        (told.status, told.end, told.closed_ns) = (self.logged_status(end), end, now);
        told.log.rt_ms = since(self.asked_ms, cached_ms).unwrap_or(0);
        told.log.urt_ms = told.log.urt_ms.or(since(self.dialed_ms, cached_ms));
        (told.longest_step_us, told.steps_us) = (micros(self.longest_ns), micros(self.steps_ns));
        told.stalled_upstream_us = micros(self.stalled_upstream_ns);
        told.stalled_client_us = micros(self.stalled_client_ns);
        told
    }

    /// Status as nginx would log it: what was answered; else 499 when the client closed a request
    /// that was complete, 400 when it closed inside its head, 0 when it asked nothing.
    fn logged_status(&self, end: SessionEnd) -> u16 {
        match (self.status, end) {
            (Some(status), _) => status,
            _ if self.asked_ms.is_none() => 0,
            _ if self.record.request_ns.is_none() => 400,
            (_, SessionEnd::ClientClosed | SessionEnd::ClientReset) => CLIENT_CLOSED_REQUEST,
            (_, SessionEnd::UpstreamTimeout) => 504,
            _ => 502,
        }
    }
}

fn since(start: Option<u64>, cached_ms: u64) -> Option<u64> {
    start.map(|start| cached_ms.saturating_sub(start))
}
