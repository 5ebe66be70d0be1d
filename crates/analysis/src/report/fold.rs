//! A fetch's timeline as people read it: events, and between them what its worker did, with long
//! lists folded.
//!
//! Invariant: no time is lost in folding: the lengths and the causes of the entries sum to the
//! fetch's time as those of its stays do.

use std::collections::BTreeMap;

use records::{Bytes, Cause, Holder, Micros, MonoNs, StepEnd};

use super::fetch::{CausePart, Event, FetchReport, Stay, WorkerDid};
use crate::explain::Hands;

/// Between two events at most so many entries stand one by one.
const MOST: usize = 12;
/// Of more, so many of the longest do; what lies between them is folded.
const LONGEST: usize = 5;
/// Short steps and polls of less than one in so many parts of the fetch's time are not named: their
/// time counts to what was before them.
const TRIFLE: u64 = 1_000;

/// One line or so of a timeline.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// Something happened.
    Event(Event),
    /// Time passed.
    Time(Folded),
}

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
    length_ns: u64,
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
    /// Bytes of each, by its worker and beginning: a fetch may wait in parts of one.
    bytes_of: BTreeMap<(u32, i64), Bytes>,
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
    busy_ns: u64,
    poll_ns: u64,
}

impl FetchReport {
    /// The timeline to be read: every event, and between them its time, folded where it is long.
    pub fn timeline(&self) -> Vec<Entry> {
        let trifle_ns = self.response_us.0.saturating_mul(1_000) / TRIFLE;
        let mut entries = Vec::new();
        let mut events = self.events.iter().peekable();
        let mut stays = self.stays.as_slice();
        while let Some(event) = events.next() {
            entries.push(Entry::Event(*event));
            let next = events.peek().map_or(u64::MAX, |event| event.at_ns);
            let count = stays.partition_point(|stay| stay.start_ns < next);
            let (between, later) = stays.split_at(count);
            entries.extend(fold(between, trifle_ns).into_iter().map(Entry::Time));
            stays = later;
        }
        entries
    }
}

fn fold(stays: &[Stay], trifle_ns: u64) -> Vec<Folded> {
    let single: Vec<Folded> = stays.iter().map(Folded::of).collect();
    let told: Vec<Folded> = single
        .chunk_by(|_, next| next.length_ns < trifle_ns && next.holds.is_empty())
        .filter_map(|run| run.iter().cloned().reduce(|all, next| all.and_length(&next)))
        .collect();
    let alike = joined(&told, Folded::is_like);
    if alike.len() <= MOST {
        return alike;
    }
    let mut lengths: Vec<u64> = alike.iter().map(|folded| folded.length_ns).collect();
    lengths.sort_unstable_by_key(|&length| std::cmp::Reverse(length));
    // Shorter than the longest few, and no longer than the next: of equals all are folded.
    let most = lengths.get(LONGEST).copied().unwrap_or(0);
    let short = |folded: &Folded| folded.length_ns <= most;
    joined(&alike, |one, next| short(one) && short(next))
}

/// Neighbours that belong together become one.
fn joined(all: &[Folded], together: impl Fn(&Folded, &Folded) -> bool) -> Vec<Folded> {
    let runs = all.chunk_by(together);
    runs.filter_map(|run| run.iter().cloned().reduce(Folded::and)).collect()
}

impl Folded {
    fn of(stay: &Stay) -> Self {
        let mut folded = Self {
            start_us: micros(stay.start_ns),
            length_us: micros(stay.length_ns),
            hands: stay.hands,
            holds: Vec::new(),
            turns: None,
            polls: 0,
            silent: 0,
            causes: stay.causes.clone(),
            length_ns: stay.length_ns,
        };
        match &stay.worker_did {
            Some(WorkerDid::Hold { began_ns, step }) => folded.holds.push(HoldGroup {
                holder: step.holder,
                steps: 1,
                waited_us: step.waited_us,
                longest_us: step.length_us,
                bytes: step.bytes,
                ended_by: Some(step.ended_by),
                bytes_of: BTreeMap::from([((step.worker, *began_ns), step.bytes)]),
            }),
            &Some(WorkerDid::Turns { turns, busy_ns }) => {
                let poll_ns = stay.length_ns.saturating_sub(busy_ns);
                folded.turns = Some(TurnGroup::new(turns, busy_ns, poll_ns));
            }
            Some(WorkerDid::Poll) => folded.polls = 1,
            None => folded.silent = 1,
        }
        folded
    }

    /// Whether `next` goes on with the same thing.
    fn is_like(&self, next: &Self) -> bool {
        let kind = |folded: &Self| {
            let holder = folded.holds.first().map(|group| group.holder);
            (holder, folded.turns.is_some(), folded.polls > 0, folded.silent > 0)
        };
        kind(self) == kind(next) && (self.silent == 0 || self.hands == next.hands)
    }

    /// Both as one; what `next` was is not told.
    fn and_length(mut self, next: &Self) -> Self {
        self.length_ns = self.length_ns.saturating_add(next.length_ns);
        self.length_us = micros(self.length_ns);
        self.causes = sum(&self.causes, &next.causes);
        self
    }

    /// Both as one; `next` follows.
    fn and(mut self, mut next: Self) -> Self {
        for group in std::mem::take(&mut next.holds) {
            match self.holds.iter_mut().find(|known| known.holder == group.holder) {
                Some(known) => known.take(&group),
                None => self.holds.push(group),
            }
        }
        self.holds.sort_by_key(|group| (std::cmp::Reverse(group.waited_us), group.holder));
        self.turns = match (self.turns, next.turns) {
            (Some(one), Some(other)) => Some(TurnGroup::new(
                one.turns.saturating_add(other.turns),
                one.busy_ns.saturating_add(other.busy_ns),
                one.poll_ns.saturating_add(other.poll_ns),
            )),
            (one, other) => one.or(other),
        };
        self.polls += next.polls;
        self.silent += next.silent;
        self.and_length(&next)
    }
}

impl HoldGroup {
    fn take(&mut self, other: &Self) {
        self.waited_us = Micros(self.waited_us.0.saturating_add(other.waited_us.0));
        self.longest_us = self.longest_us.max(other.longest_us);
        self.bytes_of.extend(&other.bytes_of);
        self.steps = self.bytes_of.len() as u64;
        self.bytes = self.bytes_of.values().copied().sum();
        self.ended_by = self.ended_by.filter(|end| Some(*end) == other.ended_by);
    }
}

impl TurnGroup {
    fn new(turns: u64, busy_ns: u64, poll_ns: u64) -> Self {
        let mean_us = micros(busy_ns / turns.max(1));
        Self { turns, mean_us, poll_us: micros(poll_ns), busy_ns, poll_ns }
    }
}

fn sum(one: &[CausePart], other: &[CausePart]) -> Vec<CausePart> {
    let mut times: BTreeMap<Cause, u64> = BTreeMap::new();
    for part in one.iter().chain(other) {
        let time = times.entry(part.cause).or_default();
        *time = time.saturating_add(part.time_ns);
    }
    CausePart::all_of(times)
}

const fn micros(ns: u64) -> Micros {
    MonoNs(ns).micros_since(MonoNs(0))
}

#[cfg(test)]
mod tests;
