//! Fetches, what is said of each, and who held them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use analysis::{Analysis, FetchSplit};
use records::{Fetch, Holder, Micros, Outcome, Phase, count};

use super::lanes::HoldData;
use super::time::{Clock, Span, end_of};
use crate::words;

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
    /// The holds that it waited in, longest wait first: position in [`super::PageData::holds`].
    pub held: Vec<(usize, Micros)>,
    /// What became of it and what held it, in sentences.
    pub told: String,
}

/// Fetches by start. `places` says where each record of a hold went.
pub(super) fn fetches(
    analysis: &Analysis<'_>,
    clock: Clock,
    holds: &[HoldData],
    places: &[usize],
) -> Vec<FetchData> {
    let fetches = &analysis.records.fetches;
    let splits = analysis.splits().iter();
    let mut order: Vec<(&Fetch, &FetchSplit)> =
        splits.filter_map(|split| Some((fetches.get(split.index)?, split))).collect();
    order.sort_by_key(|(fetch, _)| (fetch.start_ns, fetch.fetch));
    let mut rows = Rows::default();
    let of = |(fetch, split): (&Fetch, &FetchSplit)| {
        let worker = split.worker;
        let held = held(split, places);
        let span = clock.span(fetch.start_ns, end_of(fetch));
        let what = if held.is_empty() { unheld(fetch, split) } else { waits(&held, holds) };
        FetchData {
            phase: fetch.phase,
            span,
            outcome: fetch.outcome,
            worker,
            row: rows.next(worker, span.start_us, span.end_us()),
            told: format!("{} {what}", words::fetch(fetch, Micros(span.start_us), worker)),
            held,
        }
    };
    order.into_iter().map(of).collect()
}

fn held(split: &FetchSplit, places: &[usize]) -> Vec<(usize, Micros)> {
    let held = split.held.iter();
    let held = held.filter_map(|(hold, waited)| Some((*places.get(*hold)?, Micros::from(*waited))));
    let mut held: Vec<(usize, Micros)> = held.filter(|(_, waited)| *waited > Micros(0)).collect();
    held.sort_by_key(|&(hold, waited)| (Reverse(waited), hold));
    held
}

fn unheld(fetch: &Fetch, split: &FetchSplit) -> String {
    match split.shares.largest() {
        Some(cause) => {
            format!("Most of its time was {cause} ({}).", Micros::from(split.shares.of(cause)))
        }
        None if fetch.outcome == Outcome::Ok => "No step of another held it.".to_owned(),
        None => "No recorded step held it: what did is not known.".to_owned(),
    }
}

/// In how many steps of how many others it waited, and the longest wait.
fn waits(held: &[(usize, Micros)], holds: &[HoldData]) -> String {
    let all = held.iter().filter_map(|&(hold, waited)| Some((holds.get(hold)?, waited)));
    let holders: BTreeSet<Holder> = all.clone().map(|(hold, _)| hold.holder).collect();
    let sum: u64 = all.clone().fold(0, |sum, (_, waited)| waited.0.saturating_add(sum));
    let steps = count(held.len() as u64, "step", "steps");
    let of: Vec<String> = holders.iter().take(3).map(|of| words::holder(*of)).collect();
    let more = match holders.len().saturating_sub(of.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let waited = format!("It waited {} in {steps} of {}{more}.", Micros(sum), of.join(", "));
    let longest = all.clone().next().map(|(hold, waited)| {
        let (who, told, end) = (words::holder(hold.holder), hold.told(), hold.ended_by.words());
        format!(" The block that held it longest ({waited}) is {who}'s: {told}, ended by {end}.")
    });
    waited + &longest.unwrap_or_default()
}

/// Rows for fetches below the blocks of their lane.
#[derive(Default)]
struct Rows {
    /// By lane: until when each row is taken.
    lanes: BTreeMap<Option<u32>, Vec<u64>>,
    again: usize,
}

impl Rows {
    /// The row of the next fetch by start: the first that is free again.
    fn next(&mut self, worker: Option<u32>, start: u64, end: u64) -> u32 {
        /// More rows than these cannot be told apart; beyond, rows are used again though they overlap.
        const MOST: usize = 64;
        /// A little air between one's end and the next one's start, us.
        const AIR: u64 = 20_000;
        let ends = self.lanes.entry(worker).or_default();
        let row = match ends.iter().position(|&until| until <= start) {
            Some(row) => row,
            None if ends.len() < MOST => {
                ends.push(0);
                ends.len() - 1
            }
            None => {
                self.again = (self.again + 1) % MOST;
                self.again
            }
        };
        if let Some(until) = ends.get_mut(row) {
            *until = end.saturating_add(AIR);
        }
        u32::try_from(row).unwrap_or(0)
    }
}
