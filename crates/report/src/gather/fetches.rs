//! Fetches, what is said of each, and who held them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use records::{Cause, Fetch, Holder, Micros, Outcome, Phase};

use super::{Clock, Owners, end_of};
use crate::data::{Blame, FetchData, HoldData};
use crate::input::{Fate, RunInput};
use crate::words;

/// Fetches by start. `places` says where each record of a hold went.
pub(super) fn fetches(
    run: &RunInput<'_>,
    clock: &Clock,
    holds: &[HoldData],
    places: &[usize],
) -> Vec<FetchData> {
    let owners = Owners::new(run.accepted);
    let fates: BTreeMap<usize, &Fate> = run.fates.iter().map(|fate| (fate.fetch, fate)).collect();
    let mut order: Vec<(usize, &Fetch)> = run.fetches.iter().enumerate().collect();
    order.sort_by_key(|(_, fetch)| (fetch.start_ns, fetch.fetch));
    let mut rows = Rows::default();
    let of = |(at, fetch): (usize, &Fetch)| {
        let fate = fates.get(&at).copied();
        let worker = fate.and_then(|fate| fate.worker).or_else(|| owners.of(fetch));
        let held = held(fate, places);
        let span = clock.span(fetch.start_ns, end_of(fetch));
        let start = Micros(span.start_us);
        let causes = fate.map_or(&[][..], |fate| &fate.causes);
        let what = if held.is_empty() { unheld(fetch, causes) } else { waits(&held, holds) };
        FetchData {
            phase: fetch.phase,
            span,
            outcome: fetch.outcome,
            worker,
            row: rows.next(worker, span.start_us, span.end_us()),
            told: format!("{} {what}", words::fetch(fetch, start, worker)),
            held,
        }
    };
    order.into_iter().map(of).collect()
}

fn held(fate: Option<&Fate>, places: &[usize]) -> Vec<(usize, Micros)> {
    let held = fate.map_or(&[][..], |fate| &fate.held).iter();
    let held = held.filter_map(|(hold, waited)| Some((*places.get(*hold)?, *waited)));
    let mut held: Vec<(usize, Micros)> = held.filter(|(_, waited)| *waited > Micros(0)).collect();
    held.sort_by_key(|&(hold, waited)| (Reverse(waited), hold));
    held
}

fn unheld(fetch: &Fetch, causes: &[(Cause, Micros)]) -> String {
    match causes.iter().max_by_key(|(_, time)| *time) {
        Some((cause, time)) => format!("Most of its time was {cause} ({time})."),
        None if fetch.outcome == Outcome::Ok => "No step of another held it.".to_owned(),
        None => "No recorded step held it: what did is not known.".to_owned(),
    }
}

/// The longest waits by holder, and the longest of all.
fn waits(held: &[(usize, Micros)], holds: &[HoldData]) -> String {
    /// So many holders are named.
    const MOST: usize = 3;
    let held = || held.iter().filter_map(|&(hold, waited)| Some((holds.get(hold)?, waited)));
    let mut by_holder: BTreeMap<Holder, (u64, usize)> = BTreeMap::new();
    for (hold, Micros(waited)) in held() {
        let (sum, steps) = by_holder.entry(hold.holder).or_default();
        *sum = sum.saturating_add(waited);
        *steps += 1;
    }
    let mut waits: Vec<(Holder, (u64, usize))> = by_holder.into_iter().collect();
    waits.sort_by_key(|(_, (waited, _))| Reverse(*waited));
    let more = match waits.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let wait = |&(holder, (waited, steps)): &(Holder, (u64, usize))| {
        let steps = if steps == 1 { "one step".to_owned() } else { format!("{steps} steps") };
        format!("{} in {steps} of {}", Micros(waited), words::holder(holder))
    };
    let named: Vec<String> = waits.iter().take(MOST).map(wait).collect();
    let longest = held().next().map(|(hold, waited)| {
        let (who, end) = (words::holder(hold.holder), hold.ended_by.words());
        let told = hold.told();
        format!(" The block that held it longest ({waited}) is {who}'s: {told}, ended by {end}.")
    });
    format!("It waited {}{more}.{}", named.join(", "), longest.unwrap_or_default())
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

/// What the steps of each download, and of all others together, did to fetches under load.
pub(super) fn blame(fetches: &[FetchData], holds: &[HoldData]) -> Vec<Blame> {
    let slot = |hold: &HoldData| match hold.holder {
        Holder::Download(slot) => Some(slot),
        Holder::Fetch(_) | Holder::Session(_) => None,
    };
    let length = |place: usize| holds.get(place).map_or(0, |hold| hold.span.length_us);
    let mut by_slot: BTreeMap<Option<u32>, Blame> = BTreeMap::new();
    for fetch in fetches.iter().filter(|fetch| fetch.phase == Phase::Measure) {
        let mut waits: BTreeMap<Option<u32>, u64> = BTreeMap::new();
        for &(place, Micros(waited)) in &fetch.held {
            let Some(slot) = holds.get(place).map(slot) else { continue };
            let sum = waits.entry(slot).or_default();
            *sum = sum.saturating_add(waited);
            let first = || Blame { slot, longest: place, ..Blame::default() };
            let blame = by_slot.entry(slot).or_insert_with(first);
            if length(place) > length(blame.longest) {
                blame.longest = place;
            }
        }
        let most = waits.iter().max_by_key(|(_, waited)| **waited).map(|(slot, _)| *slot);
        for (slot, waited) in waits {
            let Some(blame) = by_slot.get_mut(&slot) else { continue };
            blame.fetches += 1;
            blame.led_failed += u64::from(most == Some(slot) && fetch.outcome != Outcome::Ok);
            blame.waited = Micros(blame.waited.0.saturating_add(waited));
        }
    }
    let mut blames: Vec<Blame> = by_slot.into_values().collect();
    blames.sort_by_key(|blame| Reverse(blame.waited));
    blames
}
