//! A session's steps in sum, and the times it stalled between them. All by the true clock.
//!
//! Not for: whose fault a stall was. Between two steps the worker may as well have been busy with
//! others; what is known here is only what the first of the two had to wait for.

use records::{Micros, MonoNs, StepEnd};

/// A gap of this length between two steps is a stall: 1 ms, in nanoseconds.
const STALL_NS: u64 = 1_000_000;

/// See the module's head. Sums are kept in nanoseconds: most steps take a few microseconds.
#[derive(Debug, Default)]
pub(super) struct Steps {
    count: u64,
    sum_ns: u64,
    longest_ns: u64,
    last_end: MonoNs,
    last_ended_by: Option<StepEnd>,
    stalled_upstream_ns: u64,
    stalled_client_ns: u64,
}

impl Steps {
    /// A step from `start` to `end`. `head`: when the answer's head was complete; gaps before that
    /// are no stalls.
    pub(super) fn add(
        &mut self,
        start: MonoNs,
        end: MonoNs,
        ended_by: StepEnd,
        head: Option<MonoNs>,
    ) {
        let length = end.0.saturating_sub(start.0);
        self.count += 1;
        self.sum_ns += length;
        self.longest_ns = self.longest_ns.max(length);
        let gap = start.0.saturating_sub(self.last_end.0);
        if gap >= STALL_NS && head.is_some_and(|head| head <= self.last_end) {
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

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// All of them together.
    pub(super) fn sum(&self) -> Micros {
        Micros(self.sum_ns / 1_000)
    }

    pub(super) fn longest(&self) -> Micros {
        Micros(self.longest_ns / 1_000)
    }

    /// Stalls after a step that found the upstream empty.
    pub(super) fn stalled_by_upstream(&self) -> Micros {
        Micros(self.stalled_upstream_ns / 1_000)
    }

    /// Stalls after a step that found the client's socket full.
    pub(super) fn stalled_by_client(&self) -> Micros {
        Micros(self.stalled_client_ns / 1_000)
    }
}

#[cfg(test)]
mod tests;
