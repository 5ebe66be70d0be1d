//! What ends a step; and the read policies at work, which end it while the upstream still has data.
//!
//! Not for: readiness as such. A policy only says what a read means; the session acts on it.
//!
//! Sources: nginx `ngx_unix_recv` (src/os/unix/ngx_recv.c) of 1.10.3 (`drain`), 1.17.4
//! (`short-read`), and 1.17.5 to 1.29.0 (`fionread`, the same on Linux in all of them).

use std::io;
use std::ops::ControlFlow::{self, Break, Continue};

use records::{Bytes, Hold, MonoNs, ReadPolicy, SessionEnd, StepEnd};

/// What ended a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Nothing more can be done until an event. Said by a policy: the socket is to be taken for empty
    /// until then, which is safe under edge triggering, since what arrives from now on raises one.
    Blocked(StepEnd),
    /// The quota is used up, the socket is not empty: the session runs again after the next poll.
    Yield,
    /// The session is over.
    Close(SessionEnd),
}

impl Stop {
    /// As the records have it.
    pub(crate) fn ended_by(self) -> StepEnd {
        match self {
            Self::Blocked(by) => by,
            Self::Yield => StepEnd::Quota,
            Self::Close(_) => StepEnd::Closed,
        }
    }
}

/// A read that returned data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadDone {
    /// Bytes it returned.
    pub(crate) got: usize,
    /// Bytes it had room for.
    pub(crate) offered: usize,
}

/// The policy's memory of one upstream socket and of the step under way.
#[derive(Clone, Debug)]
pub(crate) struct ReadLimit {
    policy: ReadPolicy,
    /// nginx's `rev->available`: bytes FIONREAD promised and nobody has read; `None` is its -1.
    promised: Option<u64>,
    /// The step under way: when it began, and what it has read so far.
    pub(crate) step: Hold,
}

impl ReadLimit {
    pub(crate) fn new(policy: ReadPolicy) -> Self {
        Self { policy, promised: None, step: Hold::default() }
    }

    /// A step begins: quotas are fresh.
    pub(crate) fn begin_step(&mut self, now: MonoNs) {
        self.step = Hold { start_ns: now, ..Hold::default() };
    }

    /// A readable event arrived. nginx sets `available = -1` there
    /// (`ngx_epoll_process_events`, since 1.17.5).
    pub(crate) fn on_readable(&mut self) {
        self.promised = None;
    }

    /// Counts a read and says whether the step may go on. `unread` is FIONREAD and `now` the true clock: each is asked only by the
    /// policy that needs it, so that no other pays for the call.
    pub(crate) fn after_read(
        &mut self,
        read: ReadDone,
        unread: impl FnOnce() -> io::Result<u64>,
        now: impl FnOnce() -> MonoNs,
    ) -> ControlFlow<Stop> {
        self.step.bytes += Bytes(read.got as u64);
        self.step.reads += 1;
        let short = read.got < read.offered;
        match self.policy {
            ReadPolicy::Drain => Continue(()),
            ReadPolicy::ShortRead if short => Break(Stop::Blocked(StepEnd::ShortRead)),
            ReadPolicy::ShortRead => Continue(()),
            ReadPolicy::Fionread => self.fionread(read, short, unread),
            ReadPolicy::Bytes(Bytes(quota)) => yield_when(self.step.bytes.0 >= quota),
            ReadPolicy::Reads(quota) => yield_when(self.step.reads >= quota),
            ReadPolicy::Time(quota) => yield_when(now().micros_since(self.step.start_ns) >= quota),
        }
    }

    fn fionread(
        &mut self,
        read: ReadDone,
        short: bool,
        unread: impl FnOnce() -> io::Result<u64>,
    ) -> ControlFlow<Stop> {
        if short {
            self.promised = Some(0);
            return Break(Stop::Blocked(StepEnd::ShortRead));
        }
        match self.promised {
            // nginx gives the connection up where the ioctl fails; on a TCP socket it cannot.
            None => self.promised = unread().ok(),
            // Strictly more than promised: data came in after FIONREAD was asked, so an event for
            // it is due and the socket may be left.
            Some(promised) if (read.got as u64) > promised => {
                self.promised = Some(0);
                return Break(Stop::Blocked(StepEnd::Fionread));
            }
            Some(promised) => self.promised = Some(promised - read.got as u64),
        }
        match self.promised {
            // Nothing is left of what was seen: nginx's next `recv` says EAGAIN without a call.
            Some(0) => Break(Stop::Blocked(StepEnd::UpstreamEmpty)),
            _ => Continue(()),
        }
    }
}

fn yield_when(spent: bool) -> ControlFlow<Stop> {
    if spent { Break(Stop::Yield) } else { Continue(()) }
}

#[cfg(test)]
mod tests;
