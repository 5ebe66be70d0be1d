//! A counter that only grows, known at some points in time.

use records::MonoNs;

/// Values of a growing counter by time; between two of them it is taken to grow evenly.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cumulative {
    /// In the order of time, one at a time; the value never falls.
    points: Vec<(u64, u64)>,
}

impl Cumulative {
    /// From readings in any order. A reading below an earlier one is lifted to it.
    pub(crate) fn new(readings: impl IntoIterator<Item = (MonoNs, u64)>) -> Self {
        let mut points: Vec<(u64, u64)> =
            readings.into_iter().map(|(at, value)| (at.0, value)).collect();
        points.sort_unstable();
        let mut least = 0;
        for (_, value) in &mut points {
            least = least.max(*value);
            *value = least;
        }
        // Of two readings at one time the larger one counts.
        points.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.1 = later.1;
            }
            same
        });
        Self { points }
    }

    /// Whether it can say anything at all.
    pub(crate) fn is_known(&self) -> bool {
        self.points.len() >= 2
    }

    /// By how much it grew from `start` to `end`; nothing is known outside its readings, so it
    /// counts as standing still there.
    pub(crate) fn between(&self, start: MonoNs, end: MonoNs) -> u64 {
        self.at(end.0).saturating_sub(self.at(start.0))
    }

    /// What the last reading by `at` says; before the first, what that one says.
    pub(crate) fn before(&self, at: MonoNs) -> u64 {
        let after = self.points.partition_point(|&(time, _)| time <= at.0);
        self.points.get(after.saturating_sub(1)).map_or(0, |&(_, value)| value)
    }

    /// What the first reading from `at` on says; after the last, what that one says.
    pub(crate) fn after(&self, at: MonoNs) -> u64 {
        let before = self.points.partition_point(|&(time, _)| time < at.0);
        let reading = self.points.get(before).or(self.points.last());
        reading.map_or(0, |&(_, value)| value)
    }

    /// How much of the time from `start` to `end` lies outside its readings, ns.
    pub(crate) fn unread(&self, start: MonoNs, end: MonoNs) -> u64 {
        let all = end.0.saturating_sub(start.0);
        let (Some(&(first, _)), Some(&(last, _))) = (self.points.first(), self.points.last())
        else {
            return all;
        };
        all - last.min(end.0).saturating_sub(first.max(start.0)).min(all)
    }

    fn at(&self, at: u64) -> u64 {
        let after = self.points.partition_point(|&(time, _)| time <= at);
        let next = self.points.get(after);
        let last = after.checked_sub(1).and_then(|before| self.points.get(before));
        match (last, next) {
            (Some(&(from, low)), Some(&(to, high))) => {
                let part = u128::from(high - low) * u128::from(at - from) / u128::from(to - from);
                low + u64::try_from(part).unwrap_or(high - low)
            }
            (Some(&(_, value)), None) | (None, Some(&(_, value))) => value,
            (None, None) => 0,
        }
    }
}

#[cfg(test)]
mod tests;
