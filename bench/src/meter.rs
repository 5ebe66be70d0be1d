//! How long a standing load took to move a number of bytes, told by its intervals. Pure.

use std::time::Duration;

use records::{Bytes, DownloadInterval, MonoNs};

#[cfg(test)]
mod tests;

/// Adds up intervals, which must come in order, until the goal is reached. Of an interval that
/// reaches over an edge it takes bytes and time pro rata.
#[derive(Debug)]
pub(crate) struct Meter {
    start: MonoNs,
    goal: Bytes,
    moved: Bytes,
}

impl Meter {
    /// Counts `goal` bytes from `start` on.
    pub(crate) fn new(start: MonoNs, goal: Bytes) -> Self {
        Self { start, goal, moved: Bytes(0) }
    }

    /// What was moved so far.
    pub(crate) fn moved(&self) -> Bytes {
        self.moved
    }

    /// Takes the next interval; the time from the start to the goal, if it lies in this one.
    pub(crate) fn take(&mut self, interval: &DownloadInterval) -> Option<Duration> {
        let from = interval.start_ns.max(self.start);
        let part = interval.end_ns.since(from).as_nanos();
        let whole = interval.end_ns.since(interval.start_ns).as_nanos();
        if part == 0 {
            return None; // Before the start.
        }
        let all: Bytes = interval.bytes.iter().copied().sum();
        let bytes = pro_rata(all.0, part, whole);
        let missing = self.goal.0.saturating_sub(self.moved.0);
        if bytes < missing || bytes == 0 {
            self.moved += Bytes(bytes);
            return None;
        }
        let length = u64::try_from(part).unwrap_or(u64::MAX);
        let last = pro_rata(length, u128::from(missing), u128::from(bytes));
        self.moved = self.goal;
        Some(from.since(self.start) + Duration::from_nanos(last))
    }
}

/// `part / whole` of `amount`, where `part` is the lesser and `whole` not zero.
fn pro_rata(amount: u64, part: u128, whole: u128) -> u64 {
    u64::try_from(u128::from(amount) * part / whole).unwrap_or(u64::MAX)
}
