//! How often to look: as often as is useful, and never more than a small share of a CPU allows.
//!
//! What a look costs depends on the host: the kernel walks tables that grow with its memory, files
//! that grow with its CPUs. So it is measured while the trial runs.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

#[cfg(test)]
mod tests;

/// The pace of one thing to look at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    interval: Duration,
    longest: Duration,
    due: Instant,
    /// What a look costs, as a moving mean: interrupts are charged to whom they hit, and one look
    /// that cost much is no reason to look away.
    cost: Duration,
}

/// One in so many parts of a CPU is what each thing to look at may take: 1 %. In the default trial
/// all of it together, with the waking up, takes 0.6 % of one of the load's CPUs (two CPUs, Linux
/// 6.18, 2026-11-21, `turnstile --reuseport --idle 1s --duration 6s`).
const SHARE: u32 = 100;
/// What it costs the thread of the trial to take and to file one record, on the same host.
const FILING: Duration = Duration::from_micros(2);
/// Weight of the past in the mean of costs, against one.
const PAST: u32 = 7;

impl Pace {
    /// A look each `interval`, or each `longest` where looking costs much; the first at `start`.
    pub(super) fn new(interval: Duration, longest: Duration, start: Instant) -> Self {
        Self { interval, longest, due: start, cost: Duration::ZERO }
    }

    /// When the next look is due.
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// A look at `now` took `cpu` and brought `records`. The next is due on the grid of intervals,
    /// so that looks of several things coincide; those that were missed are not made up for.
    pub(super) fn looked(&mut self, now: Instant, cpu: Duration, records: usize) {
        let records = u32::try_from(records).unwrap_or(u32::MAX);
        let cost = cpu + FILING.saturating_mul(records);
        self.cost = (self.cost * PAST + cost) / (PAST + 1);
        let affordable = self.cost.saturating_mul(SHARE).min(self.longest);
        let steps = affordable.as_nanos().div_ceil(self.interval.as_nanos().max(1)).max(1);
        let step = self.interval.saturating_mul(u32::try_from(steps).unwrap_or(u32::MAX));
        self.due += step;
        while self.due <= now {
            self.due += self.interval;
        }
    }
}

/// CPU time of the calling thread (CLOCK_THREAD_CPUTIME_ID, clock_gettime(2)).
pub(super) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}
