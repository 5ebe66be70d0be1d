//! What `turnstile explain` tells, as documents: the late fetches of a run, or one fetch.
//!
//! Not for: wording, or deciding what held a fetch (`explain`).
//!
//! Invariant: every figure that a text shows stands here or in the summary, with its unit in its
//! name; fields are only ever added within one [`SCHEMA_VERSION`].

mod evidence;
mod fetch;
mod fold;
mod late;
mod why;

use records::{Cause, CauseShare, Caveat, LateSummary, Micros, SCHEMA_VERSION, Summary, Verdict};
use serde::Serialize;

pub use crate::explain::Hands;
pub use crate::figures::log::{LogReport, LogRow};
pub use evidence::{Evidence, LongTurn, QueueDepth, Reserve};
pub use fetch::{CausePart, Event, FetchReport, Happening, Logged, NoSuchFetch, Stay, WorkerDid};
pub use fold::{Entry, Folded, HoldGroup, TurnGroup};
pub use late::{HolderReport, LateFetch};
pub use why::{HiddenCauses, Median, ModelReport, OtherCauses, Why, hidden_by_reason};

use crate::analysis::Analysis;
use crate::explain::{Context, FetchSplit};

/// What held the late fetches of a run: the document of `turnstile explain --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// The command of the run, as it was typed.
    pub command: Vec<String>,
    /// When the run started: UTC, ISO 8601.
    pub started_at: String,
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

impl Explanation {
    /// The explanation of a run.
    pub fn of(analysis: &Analysis<'_>) -> Self {
        let Analysis { records, summary, context, .. } = analysis;
        let late = analysis.late();
        Self {
            schema_version: SCHEMA_VERSION,
            command: records.manifest.command.clone(),
            started_at: records.manifest.started_at.clone(),
            verdict: summary.verdict,
            verdict_reasons: summary.verdict_reasons.clone(),
            interrupted: summary.interrupted.clone(),
            attempts: summary.measure.attempts,
            failed: summary.measure.outcomes.failed(),
            late: summary.late.clone(),
            causes: causes(context, &late, summary),
            worst: late::worst(context, &late),
            holders: late::holders(context, &late),
            log: LogReport::of(&context.join, &summary.log_truth),
            law: ModelReport::of(summary),
            caveats: summary.caveats.clone(),
        }
    }

    /// From which response time on a fetch is late; absent: no idle fetch was seen, so only failed
    /// ones are.
    pub fn late_limit_us(&self) -> Option<Micros> {
        why::limit(&self.late)
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
        Cause::ALL.into_iter().filter(|&cause| !hidden(cause) && !shown(cause)).collect()
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
    why::with_unexplained(&summary.causes).map(report).collect()
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

#[cfg(test)]
mod tests;
