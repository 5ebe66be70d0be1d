//! Fetches as columns, and who held them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use records::{Cause, Fetch, Micros, Outcome, Phase};

use super::{Clock, Owners};
use crate::data::{Blame, FetchColumns, HoldColumns};
use crate::input::{Fate, RunInput};
use crate::layout;

/// Fetches by start. `places` says where each record of a hold went.
pub(super) fn columns(
    run: &RunInput<'_>,
    clock: &Clock,
    owners: &Owners<'_>,
    places: &[usize],
) -> FetchColumns {
    let fates: BTreeMap<usize, &Fate> = run.fates.iter().map(|fate| (fate.fetch, fate)).collect();
    let mut order: Vec<(usize, &Fetch)> = run.fetches.iter().enumerate().collect();
    order.sort_by_key(|(_, fetch)| (fetch.start_ns, fetch.fetch));
    let mut columns = FetchColumns {
        outcomes: Outcome::ALL.map(Outcome::name).to_vec(),
        causes: Cause::ALL.map(Cause::name).to_vec(),
        ..FetchColumns::default()
    };
    for (at, fetch) in order {
        let fate = fates.get(&at).copied();
        let worker = fate.and_then(|fate| fate.worker).or_else(|| owners.of(fetch));
        let led_by = fate.and_then(|fate| fate.causes.iter().max_by_key(|(_, time)| *time));
        let (cause, cause_us) = led_by.map_or((-1, 0), |(cause, time)| (place_of(*cause), time.0));
        let held = held(fate, places);
        let us = |time: Option<Micros>| time.map(|time| time.0);
        columns.number.push(fetch.fetch);
        columns.phase.push(u8::from(fetch.phase == Phase::Measure));
        columns.start_us.push(clock.us(fetch.start_ns));
        columns.total_us.push(fetch.total_us.0);
        columns.lag_us.push(fetch.lag_us().0);
        columns.connect_us.push(us(fetch.connect_us));
        columns.first_byte_us.push(us(fetch.first_byte_us));
        columns.bytes.push(fetch.bytes.0);
        let outcome = Outcome::ALL.iter().position(|outcome| *outcome == fetch.outcome);
        columns.outcome.push(outcome.unwrap_or(0));
        columns.worker.push(worker.map_or(-1, i64::from));
        columns.cause.push(cause);
        columns.cause_us.push(cause_us);
        columns.held_us.push(held.iter().fold(0, |sum, (_, waited)| waited.saturating_add(sum)));
        columns.held.push(held);
    }
    let ends = columns.start_us.iter().zip(&columns.total_us);
    let ends = ends.map(|(start, total)| start.saturating_add(*total));
    let spans = columns.worker.iter().zip(&columns.start_us).zip(ends);
    columns.row = layout::rows(spans.map(|((&worker, &start), end)| (worker, start, end)));
    columns
}

fn place_of(cause: Cause) -> i64 {
    let place = Cause::ALL.iter().position(|one| *one == cause);
    place.and_then(|place| i64::try_from(place).ok()).unwrap_or(-1)
}

fn held(fate: Option<&Fate>, places: &[usize]) -> Vec<(usize, u64)> {
    let held = fate.map_or(&[][..], |fate| &fate.held);
    let mut held: Vec<(usize, u64)> = held
        .iter()
        .filter_map(|held| Some((*places.get(held.hold)?, held.waited.0)))
        .filter(|(_, waited)| *waited > 0)
        .collect();
    held.sort_by_key(|&(hold, waited)| (Reverse(waited), hold));
    held
}

/// What the steps of each download, and of all others together, did to fetches under load.
pub(super) fn blame(fetches: &FetchColumns, holds: &HoldColumns) -> Vec<Blame> {
    let mut by_holder: BTreeMap<i64, Blame> = BTreeMap::new();
    for ((held, &outcome), &phase) in fetches.held.iter().zip(&fetches.outcome).zip(&fetches.phase)
    {
        if phase != 1 {
            continue;
        }
        let failed = u64::from(outcome != 0);
        let mut waits: BTreeMap<i64, u64> = BTreeMap::new();
        for &(hold, waited) in held {
            let Some(&holder) = holds.holder.get(hold) else { continue };
            let holder = holder.max(HoldColumns::FETCH);
            let waits = waits.entry(holder).or_default();
            *waits = waits.saturating_add(waited);
            let blame = by_holder.entry(holder).or_insert_with(|| none(holder));
            let length = holds.length_us.get(hold).copied().unwrap_or(0);
            if length > blame.longest_us {
                blame.longest_us = length;
                blame.longest_bytes = holds.bytes.get(hold).copied().unwrap_or(0);
            }
        }
        let most = waits.iter().max_by_key(|(_, waited)| **waited).map(|(holder, _)| *holder);
        for (holder, waited) in waits {
            let Some(blame) = by_holder.get_mut(&holder) else { continue };
            blame.fetches += 1;
            blame.failed += failed;
            blame.led_failed += if most == Some(holder) { failed } else { 0 };
            blame.waited_us = blame.waited_us.saturating_add(waited);
        }
    }
    let mut blames: Vec<Blame> = by_holder.into_values().collect();
    blames.sort_by_key(|blame| Reverse(blame.waited_us));
    blames
}

const fn none(holder: i64) -> Blame {
    Blame {
        holder,
        fetches: 0,
        failed: 0,
        led_failed: 0,
        waited_us: 0,
        longest_us: 0,
        longest_bytes: 0,
    }
}
