//! A fetch's timeline as people read it: events, and between them what its worker did, with long
//! lists folded.
//!
//! Invariant: no time is lost in folding: the lengths and the causes of the entries sum to the
//! fetch's time as those of its stays do.

use std::collections::BTreeMap;
use std::time::Duration;

use records::{Bytes, Holder, HoldingStep, Micros, MonoNs, StepEnd};

use super::fetch::{CausePart, Event, FetchReport, Stay, WorkerDid};
use crate::explain::Hands;

/// Between two events at most so many entries stand one by one.
const MOST: usize = 12;
/// Of more, so many of the longest do; what lies between them is folded.
const LONGEST: usize = 5;
/// Short steps and polls of less than one in so many parts of the fetch's time are not named: their
/// time counts to what was before them.
const TRIFLE: u64 = 1_000;

/// One stay, or several in a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Folded {
    /// Start of the first, after the fetch was wanted.
    pub start_us: Micros,
    /// Length of all.
    pub length_us: Micros,
    /// In whose hands the fetch was when it began.
    pub hands: Hands,
    /// Holds in it, by whose step they were, the longest wait first.
    pub holds: Vec<HoldGroup>,
    /// Loop turns with short steps in it.
    pub turns: Option<TurnGroup>,
    /// Long polls in it.
    pub polls: u64,
    /// Times in it in which what a worker did is unknown, or no matter.
    pub silent: u64,
    /// The time by cause, the largest part first.
    pub causes: Vec<CausePart>,
}

/// Holds of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldGroup {
    /// Whose steps.
    pub holder: Holder,
    /// How many.
    pub steps: u64,
    /// How long the fetch waited in them.
    pub waited_us: Micros,
    /// Length of the longest.
    pub longest_us: Micros,
    /// Bytes read from the upstream in all of them.
    pub bytes: Bytes,
    /// What ended them; absent: not all the same.
    pub ended_by: Option<StepEnd>,
}

/// Loop turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnGroup {
    /// About how many.
    pub turns: u64,
    /// Length of one, without polls, in the mean.
    pub mean_us: Micros,
    /// Time in polls between them.
    pub poll_us: Micros,
}

impl FetchReport {
    /// The timeline to be read: every event, and the time until the next one, folded where it is long.
    pub fn timeline(&self) -> Vec<(Event, Vec<Folded>)> {
        let trifle_ns = self.response_us.0.saturating_mul(1_000) / TRIFLE;
        let mut stays = self.stays.as_slice();
        let nexts = self.events.iter().skip(1).map(|event| event.at_ns).chain([u64::MAX]);
        let entry = |(event, next): (&Event, u64)| {
            let count = stays.partition_point(|stay| stay.start_ns < next);
            let (between, later) = stays.split_at(count);
            stays = later;
            (*event, fold(between, trifle_ns))
        };
        self.events.iter().zip(nexts).map(entry).collect()
    }
}

/// First each stay with the trifles behind it, then neighbours of one kind, then what lies between the
/// longest few.
fn fold(stays: &[Stay], trifle_ns: u64) -> Vec<Folded> {
    let is_trifle = |stay: &Stay| {
        let hold = matches!(stay.worker_did, Some(WorkerDid::Hold { .. }));
        stay.length_ns < trifle_ns && !hold
    };
    let told: Vec<&[Stay]> = stays.chunk_by(|_, next| is_trifle(next)).collect();
    let alike: Vec<&[&[Stay]]> = told.chunk_by(|one, next| is_alike(one, next)).collect();
    if alike.len() <= MOST {
        return alike.into_iter().filter_map(Folded::of).collect();
    }
    let length = |told: &[&[Stay]]| -> u64 {
        told.iter().copied().flatten().map(|stay| stay.length_ns).sum()
    };
    let mut lengths: Vec<u64> = alike.iter().map(|told| length(told)).collect();
    lengths.sort_unstable_by_key(|&length| std::cmp::Reverse(length));
    // Shorter than the longest few, and no longer than the next: of equals all are folded.
    let most = lengths.get(LONGEST).copied().unwrap_or(0);
    let runs = alike.chunk_by(|one, next| length(one) <= most && length(next) <= most);
    runs.filter_map(|run| Folded::of(&run.concat())).collect()
}

/// Whether the worker went on with the same thing.
fn is_alike(one: &[Stay], next: &[Stay]) -> bool {
    let (Some(one), Some(next)) = (one.first(), next.first()) else { return false };
    match (&one.worker_did, &next.worker_did) {
        (Some(WorkerDid::Hold { step, .. }), Some(WorkerDid::Hold { step: other, .. })) => {
            step.holder == other.holder
        }
        (Some(WorkerDid::Turns { .. }), Some(WorkerDid::Turns { .. }))
        | (Some(WorkerDid::Poll), Some(WorkerDid::Poll)) => true,
        (None, None) => one.hands == next.hands,
        _ => false,
    }
}

impl Folded {
    /// Several in a row, each with the trifles behind it, of which only the time is told.
    fn of(told: &[&[Stay]]) -> Option<Self> {
        let all = || told.iter().copied().flatten();
        let first = all().next()?;
        let mut holds: BTreeMap<Holder, Vec<(i64, &HoldingStep)>> = BTreeMap::new();
        let (mut turns, mut busy_ns, mut poll_ns) = (0_u64, 0_u64, 0_u64);
        let (mut polls, mut silent) = (0, 0);
        for stay in told.iter().filter_map(|told| told.first()) {
            match &stay.worker_did {
                Some(WorkerDid::Hold { began_ns, step }) => {
                    holds.entry(step.holder).or_default().push((*began_ns, step));
                }
                Some(WorkerDid::Turns { turns: more, busy_ns: busy }) => {
                    turns = turns.saturating_add(*more);
                    busy_ns = busy_ns.saturating_add(*busy);
                    poll_ns = poll_ns.saturating_add(stay.length_ns.saturating_sub(*busy));
                }
                Some(WorkerDid::Poll) => polls += 1,
                None => silent += 1,
            }
        }
        let mut holds: Vec<HoldGroup> = holds.into_iter().map(HoldGroup::of).collect();
        holds.sort_by_key(|group| (std::cmp::Reverse(group.waited_us), group.holder));
        let mean_us = micros(busy_ns / turns.max(1));
        let causes = all().flat_map(|stay| &stay.causes).map(|part| (part.cause, part.time_ns));
        Some(Self {
            start_us: micros(first.start_ns),
            length_us: micros(all().map(|stay| stay.length_ns).sum()),
            hands: first.hands,
            holds,
            turns: (turns > 0).then_some(TurnGroup { turns, mean_us, poll_us: micros(poll_ns) }),
            polls,
            silent,
            causes: CausePart::all_of(causes),
        })
    }
}

impl HoldGroup {
    /// A fetch may wait in several parts of one step: its beginning tells it from others.
    fn of((holder, waits): (Holder, Vec<(i64, &HoldingStep)>)) -> Self {
        let steps = waits.iter().map(|(began, step)| ((step.worker, *began), step.bytes));
        let steps: BTreeMap<(u32, i64), Bytes> = steps.collect();
        let mut ends = waits.iter().map(|(_, step)| step.ended_by);
        let end = ends.next();
        let waited: Duration = waits.iter().map(|(_, step)| step.waited_us.as_duration()).sum();
        Self {
            holder,
            steps: steps.len() as u64,
            waited_us: waited.into(),
            longest_us: waits.iter().map(|(_, step)| step.length_us).max().unwrap_or_default(),
            bytes: steps.into_values().sum(),
            ended_by: end.filter(|_| ends.all(|other| Some(other) == end)),
        }
    }
}

const fn micros(ns: u64) -> Micros {
    MonoNs(ns).micros_since(MonoNs(0))
}

#[cfg(test)]
mod tests;
