//! Fetches, what is said of each, and who held them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use analysis::{Analysis, FetchSplit};
use records::{Fetch, Micros, Outcome, Phase, count};

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
    // Of each lane, until when each row below its blocks is taken, us.
    let mut lanes: BTreeMap<Option<u32>, Vec<u64>> = BTreeMap::new();
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
            row: row(lanes.entry(worker).or_default(), span),
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

/// In how many steps it waited, and the longest wait.
fn waits(held: &[(usize, Micros)], holds: &[HoldData]) -> String {
    let mut all = held.iter().filter_map(|&(hold, waited)| Some((holds.get(hold)?, waited)));
    let sum: u64 = all.clone().fold(0, |sum, (_, waited)| waited.0.saturating_add(sum));
    let waited =
        format!("It waited {} in {}.", Micros(sum), count(held.len() as u64, "step", "steps"));
    let longest = all.next().map(|(hold, waited)| {
        let (who, told, end) = (words::holder(hold.holder), hold.told(), hold.ended_by.words());
        format!(" The block that held it longest ({waited}) is {who}'s: {told}, ended by {end}.")
    });
    waited + &longest.unwrap_or_default()
}

/// The row of the lane's next fetch by start: the first that is free again.
fn row(ends: &mut Vec<u64>, span: Span) -> u32 {
    /// More rows than these cannot be told apart; beyond, one is used again though two overlap in it.
    const MOST: usize = 64;
    /// A little air between one's end and the next one's start, us.
    const AIR: u64 = 20_000;
    let free = ends.iter().position(|until| *until <= span.start_us).unwrap_or(ends.len());
    let row = if free < MOST { free } else { (0..MOST).min_by_key(|row| ends[*row]).unwrap_or(0) };
    ends.resize(ends.len().max(row + 1), 0);
    ends[row] = span.end_us().saturating_add(AIR);
    u32::try_from(row).unwrap_or(0)
}
