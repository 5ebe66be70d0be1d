//! Late fetches one by one, and those whose steps held them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use records::{Bytes, Cause, Holder, HoldingStep, Micros, Outcome};
use serde::Serialize;

use crate::explain::late::longest_hold;
use crate::explain::{Context, FetchSplit};
use crate::window::share;

/// So many of the worst fetches are told one by one.
const WORST: usize = 10;

/// One late fetch in a line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LateFetch {
    /// Its number.
    pub fetch: u64,
    /// The worker that accepted it, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<u32>,
    /// Intended start to end.
    pub response_us: Micros,
    /// How it ended.
    pub outcome: Outcome,
    /// What took the largest part of it.
    pub cause: Cause,
    /// That part.
    pub cause_us: Micros,
    /// The same as a share, 0 to 1.
    pub cause_share: f64,
    /// The step of another session in which it waited longest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<HoldingStep>,
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

pub(crate) fn worst(context: &Context<'_>, splits: &[&FetchSplit]) -> Vec<LateFetch> {
    let mut late: Vec<LateFetch> =
        splits.iter().filter_map(|split| late_fetch(context, split)).collect();
    late.sort_by_key(|late| (std::cmp::Reverse(late.response_us), late.fetch));
    late.truncate(WORST);
    late
}

fn late_fetch(context: &Context<'_>, split: &FetchSplit) -> Option<LateFetch> {
    let fetch = context.records.fetches.get(split.index)?;
    // One that ended at once has nothing to divide.
    let cause = split.shares.largest().unwrap_or(Cause::Unexplained);
    let (part, whole) = (split.shares.of(cause), split.shares.total());
    Some(LateFetch {
        fetch: fetch.fetch,
        worker: split.worker,
        response_us: fetch.response_us,
        outcome: fetch.outcome,
        cause,
        cause_us: part.into(),
        cause_share: share(part, whole),
        step: longest_hold(context, split),
    })
}

pub(crate) fn holders(context: &Context<'_>, splits: &[&FetchSplit]) -> Vec<HolderReport> {
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
