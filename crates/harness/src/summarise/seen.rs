//! What was seen of workers that do not tell of themselves: their calls, sleeps and absences.

use std::collections::BTreeMap;

use records::{Absence, AbsenceSummary, BlockedSummary, CallTotal, CallTotals, Micros};

use super::window::Window;
use crate::run_dir::RunRecords;

/// System calls of all workers, by name: of each worker the last count there is.
pub(super) fn calls(records: &RunRecords) -> BTreeMap<String, CallTotal> {
    let mut last: BTreeMap<u32, &CallTotals> = BTreeMap::new();
    for calls in &records.calls {
        let known = last.entry(calls.worker).or_insert(calls);
        if calls.at_ns >= known.at_ns {
            *known = calls;
        }
    }
    let mut all: BTreeMap<String, CallTotal> = BTreeMap::new();
    for (name, call) in last.into_values().flat_map(|calls| &calls.calls) {
        let sum = all.entry(name.clone()).or_default();
        sum.count = sum.count.saturating_add(call.count);
        add(&mut sum.time_us, call.time_us);
        add(&mut sum.asleep_us, call.asleep_us);
        sum.bytes += call.bytes;
    }
    all
}

/// Sleeps that have a part in `window`, by system call.
pub(crate) fn blocked(records: &RunRecords, window: Window) -> BTreeMap<String, BlockedSummary> {
    let mut by_call: BTreeMap<String, BlockedSummary> = BTreeMap::new();
    for sleep in &records.blocked {
        if !window.overlaps(Window::new(sleep.start_ns, sleep.end_ns)) {
            continue;
        }
        let name = if sleep.call.is_empty() { "a page fault" } else { &sleep.call };
        let sum = by_call.entry(name.to_owned()).or_default();
        sum.sleeps = sum.sleeps.saturating_add(1);
        add(&mut sum.time_us, sleep.length_us());
        sum.longest_us = sum.longest_us.max(sleep.length_us());
    }
    by_call
}

/// Absences that have a part in `window`; `None`: there was none.
pub(super) fn absences(records: &RunRecords, window: Window) -> Option<AbsenceSummary> {
    let inside =
        |absence: &&Absence| window.overlaps(Window::new(absence.start_ns, absence.end_ns));
    let inside: Vec<&Absence> = records.absences.iter().filter(inside).collect();
    let longest = inside.iter().max_by_key(|absence| absence.length_us())?;
    let sum = |part: fn(&Absence) -> u64| {
        inside.iter().map(|absence| part(absence)).fold(0, u64::saturating_add)
    };
    Some(AbsenceSummary {
        absences: inside.len() as u64,
        time_us: Micros(sum(|absence| absence.length_us().0)),
        longest_us: longest.length_us(),
        longest_worker: longest.worker,
        looks: sum(|absence| absence.looks.into()),
        running: sum(|absence| absence.running.into()),
        waiting: sum(|absence| absence.waiting.into()),
        blocked: sum(|absence| absence.blocked.into()),
    })
}

/// What a program says of itself may be anything: a sum ends where numbers do.
fn add(sum: &mut Micros, more: Micros) {
    sum.0 = sum.0.saturating_add(more.0);
}

#[cfg(test)]
mod tests;
