//! When fetches start. Pure: it is told the time.

use std::time::Duration;

use records::{Arrivals, MonoNs};

/// The arrival process of one run.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// When the next arrival is due.
    next: MonoNs,
    end: MonoNs,
    /// Between two arrivals; of a closed loop at least. Whole nanoseconds: their sum does not drift.
    gap: Duration,
    /// A closed loop: an arrival is due while fewer run. Absent: arrivals stand on the clock alone.
    at_a_time: Option<usize>,
}

impl Schedule {
    /// Starts from `first` on, for `length`, at least `least_gap` apart.
    pub(crate) fn new(
        arrivals: Arrivals,
        first: MonoNs,
        length: Duration,
        least_gap: Duration,
    ) -> Self {
        let (gap, at_a_time) = match arrivals {
            Arrivals::PerSecond(rate) => (Duration::from_secs_f64(1.0 / rate), None),
            Arrivals::Closed(fetches) => (least_gap, Some(fetches as usize)),
        };
        Self { next: first, end: first + length, gap: gap.max(least_gap), at_a_time }
    }

    /// When the next arrival is due, or `None` when there is none (a closed loop: while as many are
    /// `running` as may; else: the time is over).
    pub(crate) fn due(&self, now: MonoNs, running: usize) -> Option<MonoNs> {
        let due = match self.at_a_time {
            None => self.next,
            Some(most) if running < most => self.next.max(now),
            Some(_) => return None,
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
        let intended = self.at_a_time.is_none().then_some(self.next);
        self.next = intended.unwrap_or(now) + self.gap;
        intended
    }

    /// No further arrival is due.
    pub(crate) fn stop(&mut self) {
        self.end = MonoNs(0);
    }
}

#[cfg(test)]
mod tests;
