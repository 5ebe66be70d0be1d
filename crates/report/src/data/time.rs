//! Times of a run as the page, its picture and its script have them: whole microseconds since its start.

use records::{Fetch, MonoNs, Phase, RunRecords};

/// A time of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Its start.
    pub start_us: u64,
    /// Its length.
    pub length_us: u64,
}

impl Span {
    /// From one instant to another; of no length where that is earlier.
    pub const fn new(start_us: u64, end_us: u64) -> Self {
        Self { start_us, length_us: end_us.saturating_sub(start_us) }
    }

    /// From the start of the earliest to the end of the latest.
    pub(crate) fn around(spans: impl Iterator<Item = Self> + Clone) -> Self {
        let start = spans.clone().map(|span| span.start_us).min().unwrap_or(0);
        Self::new(start, spans.map(Self::end_us).max().unwrap_or(start))
    }

    /// Its end.
    pub const fn end_us(self) -> u64 {
        self.start_us.saturating_add(self.length_us)
    }

    /// What this and another have in common; of no length where that is nothing.
    pub fn common(self, other: Self) -> Self {
        let start = self.start_us.max(other.start_us);
        Self::new(start, self.end_us().min(other.end_us()))
    }
}

/// When a fetch ended.
pub(super) fn end_of(fetch: &Fetch) -> MonoNs {
    fetch.start_ns + fetch.total_us.as_duration()
}

/// Instants as microseconds since the start of the run.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    start: MonoNs,
    pub(super) end_us: u64,
}

impl Clock {
    pub(super) fn of(RunRecords { manifest, fetches, .. }: &RunRecords) -> Self {
        let start = manifest.phases.first().map(|phase| phase.start_ns);
        let start = start.or_else(|| fetches.iter().map(|fetch| fetch.start_ns).min());
        let start = start.unwrap_or_default();
        // Taking processes down is no part of the picture.
        let shown = manifest.phases.iter().filter(|phase| phase.phase != Phase::Teardown);
        let ends = shown.map(|phase| phase.end_ns.unwrap_or(phase.start_ns));
        let end = ends.chain(fetches.iter().map(end_of)).max().unwrap_or_default();
        Self { start, end_us: end.micros_since(start).0 }
    }

    /// `at` as us since the start; zero before it.
    pub(crate) const fn us(self, at: MonoNs) -> u64 {
        at.micros_since(self.start).0
    }

    /// What began before the run is of its start on.
    pub(super) const fn span(self, start: MonoNs, end: MonoNs) -> Span {
        Span::new(self.us(start), self.us(end))
    }
}
