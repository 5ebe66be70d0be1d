//! The read policies at work: what ends a step while the upstream still has data.
//!
//! Not for: readiness as such. A policy only says what a read means; the session acts on it.
//!
//! Sources: nginx `ngx_unix_recv` (src/os/unix/ngx_recv.c) of 1.10.3 (`drain`), 1.17.4
//! (`short-read`), and 1.17.5 to 1.29.0 (`fionread`, the same on Linux in all of them).

use std::io;

use records::{Bytes, MonoNs, ReadPolicy, StepEnd};

/// What to do after a read that returned data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterRead {
    /// Read again: nothing says that the socket is empty.
    Continue,
    /// Take the socket for empty until the next event. Safe under edge triggering: what arrives
    /// from now on raises a new one.
    TakeForEmpty(StepEnd),
    /// The quota is used up, the socket is not empty: run again after the next poll.
    Yield,
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
    step_bytes: u64,
    step_reads: u64,
    step_start: MonoNs,
}

impl ReadLimit {
    pub(crate) fn new(policy: ReadPolicy) -> Self {
        Self { policy, promised: None, step_bytes: 0, step_reads: 0, step_start: MonoNs(0) }
    }

    /// A step begins: quotas are fresh.
    pub(crate) fn begin_step(&mut self, now: MonoNs) {
        self.step_bytes = 0;
        self.step_reads = 0;
        self.step_start = now;
    }

    /// A readable event arrived. nginx sets `available = -1` there
    /// (`ngx_epoll_process_events`, since 1.17.5).
    pub(crate) fn on_readable(&mut self) {
        self.promised = None;
    }

    /// Judges a read. `unread` is FIONREAD and `now` the true clock: each is asked only by the
    /// policy that needs it, so that no other pays for the call.
    pub(crate) fn after_read(
        &mut self,
        read: ReadDone,
        unread: impl FnOnce() -> io::Result<u64>,
        now: impl FnOnce() -> MonoNs,
    ) -> AfterRead {
        self.step_bytes += read.got as u64;
        self.step_reads += 1;
        let short = read.got < read.offered;
        match self.policy {
            ReadPolicy::Drain => AfterRead::Continue,
            ReadPolicy::ShortRead if short => AfterRead::TakeForEmpty(StepEnd::ShortRead),
            ReadPolicy::ShortRead => AfterRead::Continue,
            ReadPolicy::Fionread => self.fionread(read, short, unread),
            ReadPolicy::Bytes(Bytes(quota)) => yield_when(self.step_bytes >= quota),
            ReadPolicy::Reads(quota) => yield_when(self.step_reads >= quota),
            ReadPolicy::Time(quota) => yield_when(now().micros_since(self.step_start) >= quota),
        }
    }

    fn fionread(
        &mut self,
        read: ReadDone,
        short: bool,
        unread: impl FnOnce() -> io::Result<u64>,
    ) -> AfterRead {
        if short {
            self.promised = Some(0);
            return AfterRead::TakeForEmpty(StepEnd::ShortRead);
        }
        match self.promised {
            // nginx gives the connection up where the ioctl fails; on a TCP socket it cannot.
            None => self.promised = unread().ok(),
            // Strictly more than promised: data came in after FIONREAD was asked, so an event for
            // it is due and the socket may be left.
            Some(promised) if (read.got as u64) > promised => {
                self.promised = Some(0);
                return AfterRead::TakeForEmpty(StepEnd::Fionread);
            }
            Some(promised) => self.promised = Some(promised - read.got as u64),
        }
        match self.promised {
            // Nothing is left of what was seen: nginx's next `recv` says EAGAIN without a call.
            Some(0) => AfterRead::TakeForEmpty(StepEnd::UpstreamEmpty),
            _ => AfterRead::Continue,
        }
    }
}

fn yield_when(spent: bool) -> AfterRead {
    if spent { AfterRead::Yield } else { AfterRead::Continue }
}

#[cfg(test)]
mod tests;
