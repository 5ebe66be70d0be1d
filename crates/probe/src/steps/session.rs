//! One session: what was seen of it, and how it is told when it has ended.

use records::{Accepted, Bytes, MonoNs, Record, SessionEnd};

use super::Take;
use super::worker::{Step, micros};

/// Whose end a connection of a session leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Upstream,
}

/// See the module's head. Times are the kernel's.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// As much as is known of it; [`Self::tell`] fills in the rest.
    pub(super) record: records::Session,
    /// Its worker and its number there, once that is known.
    pub(super) of: Option<(u32, u64)>,
    pub(super) accept_told: bool,
    /// It was there before anybody watched.
    pub(super) is_old: bool,
    /// The kernel's address of its upstream connection.
    pub(super) upstream: Option<u64>,
    /// It asked, and has neither an upstream nor an answer.
    pub(super) asks: bool,
    /// A step of it moved bytes on both sides: its connections are its own.
    pub(super) both: bool,
    /// How its client had gone, before we closed.
    pub(super) gone: Option<SessionEnd>,
    /// The same, when we closed an upstream that stood.
    pub(super) gone_then: Option<SessionEnd>,
    pub(super) upstream_had_more: bool,
    pub(super) upstream_ended: bool,
    pub(super) read_failed: bool,
    pub(super) write_failed: bool,
    pub(super) closed: Option<u64>,
    pub(super) steps_ns: u64,
    pub(super) longest_ns: u64,
}

impl Session {
    pub(super) fn number(&self) -> u64 {
        self.of.map_or(0, |(_, number)| number)
    }

    /// A step of it has ended.
    pub(super) fn count(&mut self, step: &Step) {
        let length = step.end.saturating_sub(step.start);
        self.record.steps += 1;
        self.steps_ns += length;
        self.longest_ns = self.longest_ns.max(length);
        self.record.body_bytes += Bytes(step.down);
        self.both |= step.up > 0 && step.down > 0;
    }

    /// Tells that it was accepted, once.
    pub(super) fn tell_accepted(&mut self, take: Take<'_>) {
        if let Some((worker, session)) = self.of
            && !self.is_old
            && !std::mem::replace(&mut self.accept_told, true)
        {
            let records::Session { client_port, accepted_ns: at_ns, .. } = self.record;
            take(Record::Accepted(Accepted { worker, session, client_port, at_ns }));
        }
    }

    /// How it ended, as far as sockets tell: a client that had gone before its answer was whole ended
    /// it. Whether an answer was whole when its upstream keeps the connection and has no more to say,
    /// sockets do not tell: it is taken for whole.
    fn end(&self) -> SessionEnd {
        if let Some(end) = self.gone_then {
            return end;
        }
        let failed = self.read_failed || self.write_failed;
        let failed = if failed { Some(SessionEnd::ClientReset) } else { self.gone };
        let cut = self.record.body_bytes == Bytes(0) || self.write_failed || self.upstream_had_more;
        match (cut, failed) {
            (false, _) => SessionEnd::Completed,
            (true, Some(end)) => end,
            (true, None) if self.record.request_ns.is_some() => SessionEnd::UpstreamClosedEarly,
            (true, None) => SessionEnd::ClientTimeout,
        }
    }

    /// Tells it. Open: nobody watches any more.
    pub(super) fn tell(mut self, now: MonoNs, take: Take<'_>) {
        self.tell_accepted(take);
        let Some((worker, session)) = self.of else { return };
        let end = if self.closed.is_some() { self.end() } else { SessionEnd::Shutdown };
        take(Record::Session(records::Session {
            worker,
            session,
            end,
            closed_ns: self.closed.map_or(now, MonoNs),
            longest_step_us: micros(self.longest_ns),
            steps_us: micros(self.steps_ns),
            ..self.record
        }));
    }
}
