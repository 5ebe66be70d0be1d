//! When fetches start. Pure: it is told the time.

use std::time::Duration;

use records::{Arrivals, MonoNs};

/// The arrival process of one run.
#[derive(Debug)]
pub(crate) struct Schedule {
    first: MonoNs,
    end: MonoNs,
    process: Process,
}

/// How the next start follows from the earlier ones.
#[derive(Clone, Copy, Debug)]
enum Process {
    /// The `index`-th start stands on the clock alone.
    Open { gap: Duration, index: u64 },
    /// The next start is due when fewer than `at_a_time` run, but not before `earliest`.
    Closed { at_a_time: usize, gap: Duration, earliest: MonoNs },
}

impl Schedule {
    /// Starts from `first` on, for `length`, at least `least_gap` apart.
    pub(crate) fn new(
        arrivals: Arrivals,
        first: MonoNs,
        length: Duration,
        least_gap: Duration,
    ) -> Self {
        let process = match arrivals {
            Arrivals::PerSecond(rate) => {
                let gap = Duration::from_secs_f64(1.0 / rate);
                Process::Open { gap: gap.max(least_gap), index: 0 }
            }
            Arrivals::Closed(fetches) => {
                let at_a_time = fetches.try_into().unwrap_or(usize::MAX);
                Process::Closed { at_a_time, gap: least_gap, earliest: first }
            }
        };
        Self { first, end: first + length, process }
    }

    /// When the next arrival is due, or `None` when there is none (a closed loop: while as many are
    /// `running` as may; else: the time is over).
    pub(crate) fn due(&self, now: MonoNs, running: usize) -> Option<MonoNs> {
        let due = match self.process {
            Process::Open { gap, index } => self.first + times(gap, index),
            Process::Closed { at_a_time, earliest, .. } if running < at_a_time => earliest.max(now),
            Process::Closed { .. } => return None,
        };
        (due < self.end).then_some(due)
    }

    /// Whether no further arrival will be due after `now`.
    pub(crate) fn is_over(&self, now: MonoNs) -> bool {
        self.due(now, 0).is_none()
    }

    /// The arrival that was due is met at `now`. Tells when it was intended, if that is not the real
    /// start.
    pub(crate) fn started(&mut self, now: MonoNs) -> Option<MonoNs> {
        match &mut self.process {
            Process::Open { gap, index } => {
                let intended = self.first + times(*gap, *index);
                *index += 1;
                Some(intended)
            }
            Process::Closed { gap, earliest, .. } => {
                *earliest = now + *gap;
                None
            }
        }
    }

    /// No further arrival is due.
    pub(crate) fn stop(&mut self) {
        self.end = self.first;
    }
}

/// Exact for any count: a product of floats would drift.
fn times(gap: Duration, count: u64) -> Duration {
    let nanos = gap.as_nanos() * u128::from(count);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
