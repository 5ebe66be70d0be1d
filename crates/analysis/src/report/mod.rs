//! What `turnstile explain` tells, as documents: the late fetches of a run, or one fetch.
//!
//! Not for: wording, or deciding what held a fetch (`explain`).
//!
//! Invariant: every figure that a text shows stands here or in the summary, with its unit in its
//! name; fields are only ever added within one [`SCHEMA_VERSION`].

mod evidence;
mod fetch;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use records::{
    Bytes, Cause, CauseShare, Holder, LateSummary, Micros, SCHEMA_VERSION, StepEnd, Summary,
    WorstFetch,
};
use serde::Serialize;

pub use crate::explain::Hands;
pub use evidence::{Evidence, Ran, Reserve};
pub use fetch::{CausePart, FetchReport, Happening, Moment, Stay, TurnGroup};
pub use wire::{Missing, Sent, Wire};

use crate::analysis::Analysis;
use crate::explain::late::late_fetch;
use crate::explain::{Context, FetchSplit};

/// So many of the worst fetches are told one by one.
const WORST: usize = 10;

/// What held the late fetches of a run: the document of `turnstile explain --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// The command of the run, as it was typed.
    pub command: Vec<String>,
    /// What the run showed.
    pub summary: Summary,
    /// Every cause that has a part in the late time, the largest first.
    pub causes: Vec<CauseReport>,
    /// The late fetches that took longest, at most ten, the longest first.
    pub worst: Vec<WorstFetch>,
    /// Whose steps held late fetches, the longest time first.
    pub holders: Vec<Held>,
}

/// One cause: its part, and what shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CauseReport {
    /// Its part in the late time.
    #[serde(flatten)]
    pub share: CauseShare,
    /// The late fetch that waited longest for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<Longest>,
    /// What the records say of it; absent: no more than that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

/// The longest of something, and the fetch it happened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Longest {
    /// How long.
    pub time_us: Micros,
    /// The number of the fetch.
    pub fetch: u64,
}

/// Long steps of one session in which fetches waited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Held {
    /// Whose steps.
    pub holder: Holder,
    /// Fetches that waited in them.
    pub fetches: u64,
    /// How long they waited there, together; several may wait in one step at a time.
    pub waited_us: Micros,
    /// How many steps.
    pub steps: u64,
    /// Bytes read from the upstream in all of them.
    pub bytes: Bytes,
    /// Length of the longest of them.
    pub longest_us: Micros,
    /// Bytes read from the upstream in that one.
    pub longest_bytes: Bytes,
    /// What ended them; absent: not all the same.
    pub ended_by: Option<StepEnd>,
}

impl Held {
    /// The steps behind these waits, each the position of a fetch and of a hold among the records', by
    /// whose they were, the longest wait first.
    fn all(
        context: &Context<'_>,
        waits: impl IntoIterator<Item = (usize, usize, Duration)>,
    ) -> Vec<Self> {
        #[derive(Default)]
        struct Of {
            fetches: BTreeSet<usize>,
            steps: BTreeSet<usize>,
            time: Duration,
        }
        let mut holders: BTreeMap<Holder, Of> = BTreeMap::new();
        for (fetch, hold, waited) in waits {
            let Some(holder) = context.holder(hold) else { continue };
            let of = holders.entry(holder).or_default();
            of.fetches.insert(fetch);
            of.steps.insert(hold);
            of.time += waited;
        }
        let held = |(holder, of): (Holder, Of)| {
            let steps = || of.steps.iter().filter_map(|&at| context.records.holds.get(at));
            let longest = steps().max_by_key(|hold| hold.length_us());
            let end = longest.map(|hold| hold.ended_by);
            Self {
                holder,
                fetches: of.fetches.len() as u64,
                waited_us: of.time.into(),
                steps: of.steps.len() as u64,
                bytes: steps().map(|hold| hold.bytes).sum(),
                longest_us: longest.map(|hold| hold.length_us()).unwrap_or_default(),
                longest_bytes: longest.map(|hold| hold.bytes).unwrap_or_default(),
                ended_by: end.filter(|end| steps().all(|hold| hold.ended_by == *end)),
            }
        };
        let mut all: Vec<Self> = holders.into_iter().map(held).collect();
        all.sort_by_key(|held| (std::cmp::Reverse(held.waited_us), held.holder));
        all
    }
}

impl Explanation {
    /// The explanation of a run.
    pub fn of(analysis: &Analysis<'_>) -> Self {
        let Analysis { records, summary, context, .. } = analysis;
        let late = analysis.late();
        let waits = late.iter().flat_map(|split| {
            split.held.iter().map(|(&hold, &waited)| (split.index, hold, waited))
        });
        Self {
            schema_version: SCHEMA_VERSION,
            command: records.manifest.command.clone(),
            summary: summary.clone(),
            causes: causes(context, &late, summary),
            worst: worst(context, &late),
            holders: Held::all(context, waits),
        }
    }

    /// From which response time on a fetch is late; absent: no idle fetch was seen, so only failed
    /// ones are.
    pub fn late_limit_us(&self) -> Option<Micros> {
        Some(self.summary.late.limit_us).filter(|limit| *limit < Micros(u64::MAX))
    }

    /// How much remains unexplained; absent: nothing.
    pub fn unexplained(&self) -> Option<&CauseShare> {
        self.summary.causes.iter().find(|share| share.cause == Cause::Unexplained)
    }

    /// Causes that could have been shown, and have no part in the late time.
    pub fn absent(&self) -> Vec<Cause> {
        let Summary { late, causes, visibility, .. } = &self.summary;
        let told = |cause: Cause| {
            late.hidden.iter().any(|hidden| hidden.cause == cause)
                || causes.iter().any(|share| share.cause == cause)
        };
        let could = |cause: &Cause| cause.is_of(*visibility) && *cause != Cause::Unexplained;
        Cause::ALL.into_iter().filter(|cause| could(cause) && !told(*cause)).collect()
    }
}

fn causes(context: &Context<'_>, splits: &[&FetchSplit], summary: &Summary) -> Vec<CauseReport> {
    let window = context.windows.of_phase(summary.late.phase);
    let report = |share: &CauseShare| CauseReport {
        most: most(context, splits, share.cause),
        evidence: evidence::of(context, splits, share.cause, window),
        share: share.clone(),
    };
    summary.causes.iter().map(report).collect()
}

/// The late fetch that waited longest for `cause`.
fn most(context: &Context<'_>, splits: &[&FetchSplit], cause: Cause) -> Option<Longest> {
    let waited = splits.iter().map(|split| (split.shares.of(cause), split));
    let waited = waited.filter(|(time, _)| !time.is_zero());
    let (time, split) =
        waited.max_by_key(|(time, split)| (*time, std::cmp::Reverse(split.index)))?;
    Some(Longest { time_us: time.into(), fetch: context.records.fetches.get(split.index)?.fetch })
}

fn worst(context: &Context<'_>, splits: &[&FetchSplit]) -> Vec<WorstFetch> {
    let late = splits.iter().filter_map(|split| late_fetch(context, split));
    let mut late: Vec<WorstFetch> = late.collect();
    late.sort_by_key(|late| (std::cmp::Reverse(late.response_us), late.fetch));
    late.truncate(WORST);
    late
}

/// Hidden causes by reason, in the order of their first.
pub fn hidden_by_reason(late: &LateSummary) -> Vec<(&str, Vec<Cause>)> {
    let mut groups: Vec<(&str, Vec<Cause>)> = Vec::new();
    for hidden in &late.hidden {
        match groups.iter_mut().find(|(reason, _)| *reason == hidden.reason) {
            Some((_, causes)) => causes.push(hidden.cause),
            None => groups.push((&hidden.reason, vec![hidden.cause])),
        }
    }
    groups
}

#[cfg(test)]
mod tests;
