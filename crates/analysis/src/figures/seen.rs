//! What was seen of workers that do not tell of themselves: their calls, sleeps and absences, and how
//! much of what clients got came from others.

use std::collections::BTreeMap;

use records::{
    Absence, AbsenceSummary, BlockedSummary, CallTotal, CallTotals, Micros, RunRecords, Visibility,
};

use super::slow;
use crate::join::Join;
use crate::window::{Window, Windows};

/// System calls of all workers, by name: of each worker the last count there is.
pub(crate) fn calls(records: &RunRecords) -> BTreeMap<String, CallTotal> {
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
        for (size, count) in &call.sizes {
            let sized = sum.sizes.entry(*size).or_default();
            *sized = sized.saturating_add(*count);
        }
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
pub(crate) fn absences(records: &RunRecords, window: Window) -> Option<AbsenceSummary> {
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

/// What clients got under load from nobody who was traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Untraced {
    /// Answered fetches.
    pub(crate) answers: u64,
    /// Of so many.
    pub(crate) of_answers: u64,
    /// Downloads that moved.
    pub(crate) downloads: u64,
    /// Of so many.
    pub(crate) of_downloads: u64,
}

/// What clients got under load from nobody who was traced, where that is more than `most` of the
/// answers or of the downloads; `None` where workers were not traced from outside.
///
/// A trace of some of a program's threads tells the truth of those, and nothing of what the others did
/// meanwhile: the longest step that it shows may be a short one.
pub(crate) fn untraced(
    records: &RunRecords,
    join: &Join<'_>,
    windows: &Windows,
    most: f64,
) -> Option<Untraced> {
    let traced = matches!(records.manifest.visibility, Visibility::Traced | Visibility::Threads);
    let measure = windows.measure.filter(|_| traced)?;
    let answered = join.measured().filter(|(_, fetch, _)| fetch.status.is_some());
    // Of a download that breaks off and is dialled again from its port, one connection is enough: which
    // of them is which, its times may not tell.
    let mut moved: BTreeMap<u32, bool> = BTreeMap::new();
    for (index, transfer) in join.transfers.iter().enumerate() {
        if transfer.open_in(measure) && slow::moved_in(records, transfer.slot, measure) {
            *moved.entry(transfer.slot).or_default() |= join.transfer(index).is_some();
        }
    }
    // Of a kept connection only the first fetch has its session.
    let unseen = answered.clone().filter(|(_, _, connection)| connection.is_none());
    let untraced = Untraced {
        answers: unseen.count() as u64,
        of_answers: answered.count() as u64,
        downloads: moved.values().filter(|is_joined| !**is_joined).count() as u64,
        of_downloads: moved.len() as u64,
    };
    let above = |part: u64, whole: u64| whole > 0 && part as f64 / whole as f64 > most;
    let Untraced { answers, of_answers, downloads, of_downloads } = untraced;
    (above(answers, of_answers) || above(downloads, of_downloads)).then_some(untraced)
}

/// Fetches under load whose client got an answer, but of which the proxy has no session.
pub(crate) fn answers_unjoined(join: &Join<'_>) -> u64 {
    let unjoined = join.measured().filter(|(_, fetch, connection)| {
        fetch.status.is_some() && connection.and_then(|connection| connection.session).is_none()
    });
    unjoined.count() as u64
}

/// What a program says of itself may be anything: a sum ends where numbers do.
fn add(sum: &mut Micros, more: Micros) {
    sum.0 = sum.0.saturating_add(more.0);
}
