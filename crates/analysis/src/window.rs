//! Stretches of a run on its true clock, and what of a record falls into them; records by what they
//! have in common.

use std::collections::BTreeMap;
use std::time::Duration;

use records::{Bytes, Manifest, MonoNs, Phase, PhaseSpan, RunRecords};

/// From `start` to `end`, never backwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// Its start.
    pub(crate) start: MonoNs,
    /// Its end, at or after its start.
    pub(crate) end: MonoNs,
}

impl Window {
    /// From `start` to `end`; empty at `start` when `end` is earlier.
    pub(crate) fn new(start: MonoNs, end: MonoNs) -> Self {
        Self { start, end: end.max(start) }
    }

    /// Its length.
    pub(crate) const fn length(self) -> Duration {
        self.end.since(self.start)
    }

    /// Whether `at` is inside, bounds included.
    pub(crate) fn contains(self, at: MonoNs) -> bool {
        self.start <= at && at <= self.end
    }

    /// Whether both have a stretch in common.
    pub(crate) fn overlaps(self, other: Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// The part of this window inside `other`; empty when there is none.
    pub(crate) fn clip(self, other: Self) -> Self {
        let start = self.start.clamp(other.start, other.end);
        Self::new(start, self.end.min(other.end))
    }

    /// The part of `bytes`, received evenly over `span`, that falls into this window.
    pub(crate) fn share_of(self, bytes: Bytes, span: Self) -> Bytes {
        let start = self.start.max(span.start);
        let part = self.end.min(span.end).since(start).as_nanos();
        let whole = span.length().as_nanos();
        if whole == 0 {
            return Bytes(0);
        }
        let share = u128::from(bytes.0) * part / whole;
        Bytes(u64::try_from(share).unwrap_or(bytes.0))
    }
}

/// The stretches that figures are made over; absent when the run never came so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Windows {
    /// The whole run.
    pub(crate) run: Window,
    /// From the start of the load until it was stopped: the load and measure phases.
    pub(crate) loaded: Option<Window>,
    /// The measure phase.
    pub(crate) measure: Option<Window>,
    /// The idle phase.
    pub(crate) idle: Option<Window>,
}

impl Windows {
    /// The stretches of a run. A phase without an end lasts until the last thing recorded.
    pub(crate) fn of(records: &RunRecords) -> Self {
        let manifest = &records.manifest;
        let first = manifest.phases.first().map_or(MonoNs(0), |span| span.start_ns);
        let last = last_known(records).max(first);
        let end_of = |span: &PhaseSpan| span.end_ns.unwrap_or(last);
        let measure = phase(manifest, Phase::Measure);
        let load = phase(manifest, Phase::Load).or(measure);
        Self {
            run: Window::new(first, last),
            loaded: load.map(|span| Window::new(span.start_ns, end_of(measure.unwrap_or(span)))),
            measure: measure.map(|span| Window::new(span.start_ns, end_of(span))),
            idle: phase(manifest, Phase::Idle).map(|span| Window::new(span.start_ns, end_of(span))),
        }
    }

    /// When the fetches of `phase` ran; the whole run where that is not known.
    pub(crate) fn of_phase(&self, phase: Phase) -> Window {
        let of_phase = if phase == Phase::Idle { self.idle } else { self.measure };
        of_phase.unwrap_or(self.run)
    }
}

fn phase(manifest: &Manifest, phase: Phase) -> Option<&PhaseSpan> {
    manifest.phases.iter().find(|span| span.phase == phase)
}

fn last_known(records: &RunRecords) -> MonoNs {
    let phases = records.manifest.phases.iter().map(|span| span.end_ns.unwrap_or(span.start_ns));
    let fetches = records.fetches.iter().map(|fetch| fetch.start_ns + fetch.total_us.as_duration());
    let intervals = records.intervals.iter().map(|interval| interval.end_ns);
    let samples = records.samples.iter().map(|sample| sample.at_ns);
    phases.chain(fetches).chain(intervals).chain(samples).max().unwrap_or_default()
}

/// Values by their key, those of one key in the order in which they came.
pub(crate) fn grouped<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, Vec<V>> {
    let mut groups: BTreeMap<K, Vec<V>> = BTreeMap::new();
    for (key, value) in pairs {
        groups.entry(key).or_default().push(value);
    }
    groups
}

/// `part` of `whole`, 0 to 1 where it is not more; zero of nothing.
pub(crate) fn share(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() { 0.0 } else { part.as_secs_f64() / whole.as_secs_f64() }
}
