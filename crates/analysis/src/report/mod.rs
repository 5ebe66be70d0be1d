//! What `turnstile explain` tells, as documents: the late fetches of a run, or one fetch.
//!
//! Not for: wording, or deciding what held a fetch (`explain`).
//!
//! Invariant: every figure that a text shows stands here or in the summary, with its unit in its
//! name; fields are only ever added within one [`SCHEMA_VERSION`].

mod evidence;
mod fetch;
mod fold;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use records::{
    Bytes, Cause, CauseShare, Caveat, Holder, LateSummary, Law, Micros, SCHEMA_VERSION, Summary,
    Verdict, Visibility, WorstFetch,
};
use serde::Serialize;

pub use crate::explain::Hands;
pub use crate::figures::log::{LogReport, LogRow};
pub use evidence::{Evidence, LongTurn, QueueDepth, Ran, Reserve, Throttled};
pub use fetch::{CausePart, Event, FetchReport, Happening, Logged, NoSuchFetch, Stay, WorkerDid};
pub use fold::{Folded, HoldGroup, TurnGroup};
pub use wire::{Missing, Sent, Wire};

use crate::analysis::Analysis;
use crate::explain::late::late_fetch;
use crate::explain::{Context, FetchSplit};
use crate::window::share;

/// So many of the worst fetches are told one by one.
const WORST: usize = 10;

/// What held the late fetches of a run: the document of `turnstile explain --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// The command of the run, as it was typed.
    pub command: Vec<String>,
    /// When the run started: UTC, ISO 8601.
    pub started_at: String,
    /// How the workers were seen.
    #[serde(skip)]
    pub sight: Visibility,
    /// What the run proves.
    pub verdict: Verdict,
    /// Why, the weightiest first.
    pub verdict_reasons: Vec<String>,
    /// The signal that cut the run short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<String>,
    /// Fetches of the measure phase.
    pub attempts: u64,
    /// Of these, failed.
    pub failed: u64,
    /// The late ones, and causes that could not have been shown.
    pub late: LateSummary,
    /// Every cause that has a part in the late time, the largest first, and `unexplained`.
    pub causes: Vec<CauseReport>,
    /// The late fetches that took longest, at most ten, the longest first.
    pub worst: Vec<LateFetch>,
    /// Whose steps held late fetches, the longest time first.
    pub holders: Vec<HolderReport>,
    /// The access log beside what clients saw.
    pub log: LogReport,
    /// The law beside the measurement, where it says something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub law: Option<ModelReport>,
    /// Reasons to trust a number less.
    pub caveats: Vec<Caveat>,
}

/// One cause: its part, and what shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CauseReport {
    /// Its part in the late time.
    #[serde(flatten)]
    pub share: CauseShare,
    /// [`Cause::words`].
    pub meaning: &'static str,
    /// The late fetch that waited longest for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<Longest>,
    /// What the records say of it.
    pub evidence: Evidence,
}

/// The longest of something, and the fetch it happened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Longest {
    /// How long.
    pub time_us: Micros,
    /// The number of the fetch.
    pub fetch: u64,
}

/// One late fetch in a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LateFetch {
    /// What it is, and the step of another session in which it waited longest.
    #[serde(flatten)]
    pub told: WorstFetch,
    /// What took the largest part of it, as a share, 0 to 1.
    pub cause_share: f64,
}

/// Whose steps held late fetches, and how much.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HolderReport {
    /// Who.
    pub holder: Holder,
    /// Late fetches that waited in its steps.
    pub fetches: u64,
    /// How long they waited there, together; several may wait in one step at a time.
    pub fetch_time_us: Micros,
    /// In how many of its steps.
    pub steps: u64,
    /// The longest of these steps.
    pub longest_step_us: Micros,
    /// Bytes read from the upstream in that step.
    pub longest_step_bytes: Bytes,
}

/// The law beside a median that is worth comparing, or is not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelReport {
    /// What it predicts and what was measured.
    #[serde(flatten)]
    pub law: Law,
    /// What the measured median is.
    pub median: Median,
}

/// What a median of fetch times is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Median {
    /// It was measured.
    Measured,
    /// It is the cap of the fetches: half of them or more were cut short, and would have taken
    /// longer.
    Censored,
}

/// Causes that cannot be told, for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenCauses {
    /// Which ones.
    pub causes: Vec<Cause>,
    /// Why.
    pub reason: String,
}

impl ModelReport {
    /// The law of a run; `None` where it says nothing, or no fetch was measured.
    pub fn of(summary: &Summary) -> Option<Self> {
        let law = summary.law.clone().filter(|_| summary.measure.attempts > 0)?;
        let cut = summary.measure.censored > 0 && law.measured_us >= summary.arm.fetch.cap;
        Some(Self { law, median: if cut { Median::Censored } else { Median::Measured } })
    }
}

impl Explanation {
    /// The explanation of a run.
    pub fn of(analysis: &Analysis<'_>) -> Self {
        let Analysis { records, summary, context, .. } = analysis;
        let late = analysis.late();
        Self {
            schema_version: SCHEMA_VERSION,
            command: records.manifest.command.clone(),
            started_at: records.manifest.started_at.clone(),
            sight: summary.visibility,
            verdict: summary.verdict,
            verdict_reasons: summary.verdict_reasons.clone(),
            interrupted: summary.interrupted.clone(),
            attempts: summary.measure.attempts,
            failed: summary.measure.outcomes.failed(),
            late: summary.late.clone(),
            causes: causes(context, &late, summary),
            worst: worst(context, &late),
            holders: holders(context, &late),
            log: LogReport { truth: summary.log_truth.clone(), rows: analysis.log_rows.clone() },
            law: ModelReport::of(summary),
            caveats: summary.caveats.clone(),
        }
    }

    /// From which response time on a fetch is late; absent: no idle fetch was seen, so only failed
    /// ones are.
    pub fn late_limit_us(&self) -> Option<Micros> {
        Some(self.late.limit_us).filter(|limit| *limit < Micros(u64::MAX))
    }

    /// How much remains unexplained; absent where nothing was late.
    pub fn unexplained(&self) -> Option<&CauseShare> {
        let shares = self.causes.iter().map(|cause| &cause.share);
        shares.into_iter().find(|share| share.cause == Cause::Unexplained)
    }

    /// Causes that could have been shown, and have no part in the late time.
    pub fn absent(&self) -> Vec<Cause> {
        let hidden = |cause: Cause| self.late.hidden.iter().any(|hidden| hidden.cause == cause);
        let shown = |cause: Cause| self.causes.iter().any(|story| story.share.cause == cause);
        Cause::ALL
            .into_iter()
            .filter(|&cause| !hidden(cause) && !shown(cause) && cause.is_of(self.sight))
            .collect()
    }
}

fn causes(context: &Context<'_>, splits: &[&FetchSplit], summary: &Summary) -> Vec<CauseReport> {
    if splits.is_empty() {
        return Vec::new();
    }
    let window = context.windows.of_phase(summary.late.phase);
    let report = |share: CauseShare| CauseReport {
        meaning: share.cause.words(),
        most: most(context, splits, share.cause),
        evidence: evidence::of(context, splits, share.cause, window),
        share,
    };
    with_unexplained(&summary.causes).map(report).collect()
}

/// The late fetch that waited longest for `cause`.
fn most(context: &Context<'_>, splits: &[&FetchSplit], cause: Cause) -> Option<Longest> {
    let (time, split) = splits
        .iter()
        .map(|split| (split.shares.of(cause), split))
        .filter(|(time, _)| !time.is_zero())
        .max_by_key(|(time, split)| (*time, std::cmp::Reverse(split.index)))?;
    Some(Longest { time_us: time.into(), fetch: context.records.fetches.get(split.index)?.fetch })
}

fn worst(context: &Context<'_>, splits: &[&FetchSplit]) -> Vec<LateFetch> {
    let late = |split: &&FetchSplit| {
        let told = late_fetch(context, split)?;
        let cause_share = share(split.shares.of(told.cause), split.shares.total());
        Some(LateFetch { told, cause_share })
    };
    let mut late: Vec<LateFetch> = splits.iter().filter_map(late).collect();
    late.sort_by_key(|late| (std::cmp::Reverse(late.told.response_us), late.told.fetch));
    late.truncate(WORST);
    late
}

fn holders(context: &Context<'_>, splits: &[&FetchSplit]) -> Vec<HolderReport> {
    #[derive(Default)]
    struct Held {
        fetches: BTreeSet<usize>,
        steps: BTreeSet<usize>,
        time: Duration,
    }
    let mut holders: BTreeMap<Holder, Held> = BTreeMap::new();
    for split in splits {
        for (&at, &waited) in &split.held {
            let Some(holder) = context.holder(at) else { continue };
            let held = holders.entry(holder).or_default();
            held.fetches.insert(split.index);
            held.steps.insert(at);
            held.time += waited;
        }
    }
    let report = |(holder, held): (Holder, Held)| {
        let steps = held.steps.iter().filter_map(|&at| context.records.holds.get(at));
        let longest = steps.max_by_key(|hold| hold.length_us());
        HolderReport {
            holder,
            fetches: held.fetches.len() as u64,
            fetch_time_us: held.time.into(),
            steps: held.steps.len() as u64,
            longest_step_us: longest.map(|hold| hold.length_us()).unwrap_or_default(),
            longest_step_bytes: longest.map(|hold| hold.bytes).unwrap_or_default(),
        }
    };
    let mut reports: Vec<HolderReport> = holders.into_iter().map(report).collect();
    reports.sort_by_key(|report| (std::cmp::Reverse(report.fetch_time_us), report.holder));
    reports
}

/// The causes, with a line for `unexplained` also where nothing is.
fn with_unexplained(causes: &[CauseShare]) -> impl Iterator<Item = CauseShare> {
    let told = causes.iter().any(|share| share.cause == Cause::Unexplained);
    let nothing = CauseShare {
        cause: Cause::Unexplained,
        share_of_late_time: 0.0,
        time_us: Micros(0),
        fetches: 0,
    };
    causes.iter().cloned().chain((!told).then_some(nothing))
}

/// Hidden causes by reason, in the order of their first.
pub fn hidden_by_reason(late: &LateSummary) -> Vec<HiddenCauses> {
    let mut groups: Vec<HiddenCauses> = Vec::new();
    for hidden in &late.hidden {
        match groups.iter_mut().find(|group| group.reason == hidden.reason) {
            Some(group) => group.causes.push(hidden.cause),
            None => groups
                .push(HiddenCauses { causes: vec![hidden.cause], reason: hidden.reason.clone() }),
        }
    }
    groups
}

#[cfg(test)]
mod tests;
