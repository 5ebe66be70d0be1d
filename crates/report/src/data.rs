//! What the page holds: one run, ready to be drawn.

use records::{Bytes, Holder, Micros, Outcome, Phase, StepEnd, Summary};
use serde::Serialize;

use crate::curve::{LatencyCurve, SurvivalPoint};

/// One run. Times are whole microseconds since the start of its first phase.
#[derive(Clone, Debug)]
pub struct PageData {
    /// What the run is called: its most telling settings.
    pub title: String,
    /// The verdict in one sentence.
    pub sentence: String,
    /// What the verdict rests on: two figures, what each is of, and what to hold it against.
    pub figures: Vec<FigureLine>,
    /// The command, as a shell takes it.
    pub command: String,
    /// UTC, ISO 8601: when the run started.
    pub started_at: String,
    /// Length of the run, us; never zero.
    pub end_us: u64,
    /// When a fetch is given up.
    pub cap_us: Micros,
    /// From which length on steps were recorded one by one.
    pub hold_us: Micros,
    /// The phases that began.
    pub phases: Vec<(Phase, Span)>,
    /// The workers that have a lane.
    pub workers: Vec<u32>,
    /// The slots of the parallel downloads.
    pub downloads: Vec<u32>,
    /// Steps, by start.
    pub holds: Vec<HoldData>,
    /// Stretches with short steps in them, by start.
    pub stretches: Vec<StretchData>,
    /// Other times in which a worker was away from its poll, by start.
    pub absences: Vec<AbsenceData>,
    /// Attempts, by start.
    pub fetches: Vec<FetchData>,
    /// Who held late fetches of the measure phase, the longest wait first.
    pub blame: Vec<Blame>,
    /// Bytes per second of each download over time.
    pub throughput: Vec<Series>,
    /// Accept queues over time.
    pub accept_queues: Vec<Series>,
    /// Bytes that waited to be read by the proxy, by download, over time.
    pub receive_queues: Vec<Series>,
    /// Latency without load, and under load.
    pub latency: [LatencyCurve; 2],
    /// Not yet done, without load, and under load.
    pub survival: [Vec<SurvivalPoint>; 2],
    /// Machine and versions: name and value.
    pub environment: Vec<(String, String)>,
    /// What went wrong in the run, in words.
    pub faults: Vec<String>,
    /// The summary, as `summary.json` has it.
    pub summary: Summary,
}

/// A figure that carries the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FigureLine {
    /// The figure, with its unit.
    pub value: String,
    /// What it is of.
    pub of: String,
    /// What to hold it against.
    pub against: String,
}

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

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldData {
    /// Which worker.
    pub worker: u32,
    /// When.
    pub span: Span,
    /// Bytes read from the upstream.
    pub bytes: Bytes,
    /// Whose step it was.
    pub holder: Holder,
    /// What ended it.
    pub ended_by: StepEnd,
}

impl HoldData {
    /// Its length and its bytes: `1.412 s, 1.3 GiB`.
    pub(crate) fn told(&self) -> String {
        format!("{}, {}", Micros(self.span.length_us), self.bytes)
    }
}

/// A time in which a worker did short steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StretchData {
    /// Which worker.
    pub worker: u32,
    /// When.
    pub span: Span,
    /// Time outside of polls.
    pub busy: Micros,
    /// Time in which it did short steps: that of a step long enough to be drawn is none.
    pub length: Micros,
    /// Steps in it.
    pub steps: u32,
    /// Loop turns in it.
    pub turns: u32,
}

impl StretchData {
    /// Part of it outside of polls, per cent.
    pub(crate) fn busy_percent(&self) -> u64 {
        self.busy.0.saturating_mul(100).checked_div(self.length.0).unwrap_or(0).min(100)
    }
}

/// Another time in which a worker was away from its poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbsenceData {
    /// Which worker.
    pub worker: u32,
    /// When.
    pub span: Span,
    /// What is known of it.
    pub told: String,
}

/// An attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchData {
    /// Without load or under load.
    pub phase: Phase,
    /// From its true start to its end.
    pub span: Span,
    /// How it ended.
    pub outcome: Outcome,
    /// The worker that owned it, as far as known.
    pub worker: Option<u32>,
    /// Its place below the lane's blocks, from 0: no two overlap in one.
    pub row: u32,
    /// The holds that it waited in, longest wait first: position in [`PageData::holds`].
    pub held: Vec<(usize, Micros)>,
    /// What became of it and what held it, in sentences.
    pub told: String,
}

/// What the steps of one download did to fetches under load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blame {
    /// Which download; absent: all that are none, together.
    pub slot: Option<u32>,
    /// Fetches that waited in its steps.
    pub fetches: u64,
    /// Failed ones that waited longer in its steps than in any other's.
    pub led_failed: u64,
    /// The waits together.
    pub waited: Micros,
    /// Its longest step in which one waited: position in [`PageData::holds`].
    pub longest: usize,
}

/// A figure over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// Whose: `worker 0`, `download 1`.
    pub name: String,
    /// Which download it is of; absent: a listener's.
    pub slot: Option<u32>,
    /// When, and how much.
    pub points: Vec<(u64, u64)>,
    /// How much there may be; absent: unknown.
    pub limit: Option<u64>,
}

impl PageData {
    /// When a phase was, if it began.
    pub(crate) fn phase(&self, phase: Phase) -> Option<Span> {
        self.phases.iter().find(|(known, _)| *known == phase).map(|(_, span)| *span)
    }

    /// Whether any fetch has no known owner, so that a lane of its own is needed.
    pub(crate) fn has_unowned(&self) -> bool {
        self.fetches.iter().any(|fetch| fetch.worker.is_none())
    }
}
