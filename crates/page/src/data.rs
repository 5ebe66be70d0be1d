//! What the page holds: one run, ready to be drawn.
//!
//! Series are columns, not rows: a hundred thousand holds stay a few megabytes.

use records::{Micros, Summary};
use serde::{Serialize, Serializer};

use crate::curve::{LatencyCurve, SurvivalPoint};

/// One run. Times are whole microseconds since the start of its first phase.
#[derive(Clone, Debug, Serialize)]
pub struct PageData {
    /// Version of this layout: 1. The page's script knows this one.
    pub page_version: u32,
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
    /// When a fetch is given up, us.
    pub cap_us: u64,
    /// From which length on steps were recorded one by one, us.
    pub hold_us: u64,
    /// The phases that began.
    pub phases: Vec<PhaseData>,
    /// The workers that have a lane.
    pub workers: Vec<u32>,
    /// The parallel downloads.
    pub downloads: Vec<DownloadData>,
    /// Steps, by start.
    pub holds: HoldColumns,
    /// Stretches with short steps in them, by start.
    pub stretches: StretchColumns,
    /// Other times in which a worker was away, by start.
    pub spans: Vec<OtherSpan>,
    /// Attempts, by start.
    pub fetches: FetchColumns,
    /// Who held late fetches of the measure phase, the longest wait first.
    pub blame: Vec<Blame>,
    /// Downloads' bytes over time.
    pub throughput: Throughput,
    /// Accept queues over time.
    pub accept_queues: Vec<QueueSeries>,
    /// Bytes that waited to be read by the proxy, by download, over time.
    pub receive_queues: Vec<QueueSeries>,
    /// Latency without load.
    pub idle_latency: LatencyCurve,
    /// Latency under load.
    pub load_latency: LatencyCurve,
    /// Not yet done, without load.
    pub idle_survival: Vec<SurvivalPoint>,
    /// Not yet done, under load.
    pub load_survival: Vec<SurvivalPoint>,
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

/// A phase on the time axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PhaseData {
    /// Its word.
    pub name: &'static str,
    /// Its start.
    pub start_us: u64,
    /// Its end, or the end of the run.
    pub end_us: u64,
}

/// One of the parallel downloads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DownloadData {
    /// Its slot, from 0.
    pub slot: u32,
    /// The worker that held it last, as far as known.
    pub worker: Option<u32>,
    /// Its colour: `#rrggbb`.
    pub color: &'static str,
    /// Whether it is hatched, since another has the same colour.
    pub hatched: bool,
}

/// Steps: one column a field. Starts are written as differences.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HoldColumns {
    /// Which worker.
    pub worker: Vec<u32>,
    /// Start.
    #[serde(serialize_with = "differences")]
    pub start_us: Vec<u64>,
    /// Length.
    pub length_us: Vec<u64>,
    /// Bytes read from the upstream.
    pub bytes: Vec<u64>,
    /// Whose: the slot of a download, [`Self::FETCH`] or [`Self::OTHER`].
    pub holder: Vec<i64>,
    /// The number of that fetch or session; zero for downloads.
    pub number: Vec<u64>,
    /// What ended it: position in `ends`.
    pub ended_by: Vec<usize>,
    /// What ends steps, in words.
    pub ends: Vec<&'static str>,
}

impl HoldColumns {
    /// [`Self::holder`] of a step that served another fetch.
    pub const FETCH: i64 = -1;
    /// [`Self::holder`] of a step whose session joins neither.
    pub const OTHER: i64 = -2;

    /// How many.
    pub fn len(&self) -> usize {
        self.start_us.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.start_us.is_empty()
    }
}

/// Stretches in which a worker did short steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StretchColumns {
    /// Which worker.
    pub worker: Vec<u32>,
    /// Start.
    #[serde(serialize_with = "differences")]
    pub start_us: Vec<u64>,
    /// Length.
    pub length_us: Vec<u64>,
    /// Part of it outside of polls, per mille.
    pub busy: Vec<u16>,
    /// Steps in it.
    pub steps: Vec<u32>,
    /// Loop turns in it.
    pub turns: Vec<u32>,
}

/// Another time in which a worker was away from its poll.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OtherSpan {
    /// How it is known.
    pub kind: SpanKind,
    /// Which worker.
    pub worker: u32,
    /// Start.
    pub start_us: u64,
    /// Length.
    pub length_us: u64,
    /// What is known of it.
    pub words: String,
}

/// How a time away is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// It was looked at and not seen in its poll.
    Absent,
    /// It slept in a system call other than its poll.
    Asleep,
}

/// Attempts: one column a field. Starts are written as differences.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FetchColumns {
    /// Its number within its phase.
    pub number: Vec<u64>,
    /// 0: idle, 1: measure.
    pub phase: Vec<u8>,
    /// True start.
    #[serde(serialize_with = "differences")]
    pub start_us: Vec<u64>,
    /// Start to end.
    pub total_us: Vec<u64>,
    /// Intended start to true start.
    pub lag_us: Vec<u64>,
    /// Start to the end of the handshake.
    pub connect_us: Vec<Option<u64>>,
    /// Start to the answer's head.
    pub first_byte_us: Vec<Option<u64>>,
    /// Bytes received.
    pub bytes: Vec<u64>,
    /// How it ended: position in `outcomes`.
    pub outcome: Vec<usize>,
    /// Every outcome.
    pub outcomes: Vec<&'static str>,
    /// The worker that owned it; -1: unknown.
    pub worker: Vec<i64>,
    /// Its place below the lane's blocks, from 0: no two overlap in one.
    pub row: Vec<u32>,
    /// What took its largest part: position in `causes`; -1: not explained.
    pub cause: Vec<i64>,
    /// That part.
    pub cause_us: Vec<u64>,
    /// Every cause.
    pub causes: Vec<&'static str>,
    /// The holds it waited in, longest wait first: position in [`PageData::holds`], us.
    pub held: Vec<Vec<(usize, u64)>>,
    /// Its wait in holds, all told.
    pub held_us: Vec<u64>,
}

impl FetchColumns {
    /// How many.
    pub fn len(&self) -> usize {
        self.start_us.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.start_us.is_empty()
    }
}

/// What one holder's steps did to fetches under load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Blame {
    /// As [`HoldColumns::holder`]; all that are no downloads together.
    pub holder: i64,
    /// Fetches that waited in its steps.
    pub fetches: u64,
    /// Of these, failed.
    pub failed: u64,
    /// Failed ones that waited longer in its steps than in any other's.
    pub led_failed: u64,
    /// The waits together.
    pub waited_us: u64,
    /// Its longest step in which one waited.
    pub longest_us: u64,
    /// Bytes of that step.
    pub longest_bytes: u64,
}

/// Bytes of the downloads, by interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Throughput {
    /// Starts of the intervals.
    pub start_us: Vec<u64>,
    /// Ends of the intervals.
    pub end_us: Vec<u64>,
    /// By download: bytes per second in each interval.
    pub bytes_per_sec: Vec<Vec<u64>>,
}

/// A depth over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueueSeries {
    /// Whose: `worker 0`, `shared`, `download 1`.
    pub name: String,
    /// Which download it is of; absent: a listener's.
    pub slot: Option<u32>,
    /// When it was looked at.
    pub at_us: Vec<u64>,
    /// What waited then: connections or bytes.
    pub depth: Vec<u64>,
    /// How much may wait; absent: unknown.
    pub limit: Option<u64>,
}

impl PageData {
    /// The cap as a length of time.
    pub const fn cap(&self) -> Micros {
        Micros(self.cap_us)
    }

    /// The bounds of a phase, if it began.
    pub fn phase(&self, name: &str) -> Option<(u64, u64)> {
        let phase = self.phases.iter().find(|phase| phase.name == name)?;
        Some((phase.start_us, phase.end_us))
    }

    /// Whether any fetch has no known owner, so that a lane of its own is needed.
    pub fn has_unowned(&self) -> bool {
        self.fetches.worker.iter().any(|&worker| worker < 0)
    }
}

/// Ascending numbers as the first and then the differences: half as long in JSON.
fn differences<S: Serializer>(values: &[u64], serializer: S) -> Result<S::Ok, S::Error> {
    let mut before = 0;
    serializer.collect_seq(values.iter().map(|&value| {
        let difference = value.saturating_sub(before);
        before = value;
        difference
    }))
}
