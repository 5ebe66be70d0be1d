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
    /// The next start is due when the last fetch has ended, but not before `earliest`.
    Closed { gap: Duration, earliest: MonoNs },
}

impl Schedule {
    /// Starts from `first` on, for `length`, at least `least_gap` apart.
    pub(crate) fn new(
        arrivals: Arrivals,
        first: MonoNs,
        length: Duration,
        least_gap: Duration,
    ) -> Self {
        let process = match arrivals.gap() {
            Some(gap) => Process::Open { gap: gap.max(least_gap), index: 0 },
            None => Process::Closed { gap: least_gap, earliest: first },
        };
        Self { first, end: first + length, process }
    }

    /// When the next arrival is due, or `None` when there is none (a closed loop: while one of the
    /// `running` fetches runs; else: the time is over).
    pub(crate) fn due(&self, now: MonoNs, running: usize) -> Option<MonoNs> {
        let due = match self.process {
            Process::Open { gap, index } => self.first + times(gap, index),
            Process::Closed { earliest, .. } if running == 0 => earliest.max(now),
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
            Process::Closed { gap, earliest } => {
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
