//! A row for each worker: what it did from the load's start to its end, and what the scheduler gave it in
//! the measure phase; of workers that do not tell of themselves their calls, sleeps and absences, and how
//! much of what clients got came from others.

use std::collections::{BTreeMap, BTreeSet};

use records::{
    Absence, AbsenceSummary, BlockedSummary, CallTotal, Hold, LoopTurn, Micros, MonoNs, Recording,
    RunRecords, SchedulerFigures, Visibility, WorkerSample, WorkerSummary, WorkerTotals,
};

use super::slow;
use crate::join::Join;
use crate::window::{Window, Windows};

/// Every worker that any record tells of, in order. Where only clients are heard, steps that are told of are
/// a part of the work, and are not counted.
pub(crate) fn summaries(
    records: &RunRecords,
    join: &Join<'_>,
    windows: &Windows,
    holders: &BTreeMap<u32, BTreeSet<u32>>,
    visibility: Visibility,
) -> Vec<WorkerSummary> {
    let told = join.connections.iter().map(|connection| connection.worker);
    let told = told.chain(records.totals.iter().map(|totals| totals.worker));
    let told = told.chain(records.samples.iter().map(|sample| sample.worker));
    let told = told.chain(records.holds.iter().map(|hold| hold.worker));
    let scheduler = SchedulerFigures::None;
    let empty = |worker| WorkerSummary { worker, scheduler, ..WorkerSummary::default() };
    let mut workers: BTreeMap<u32, WorkerSummary> =
        told.map(|worker| (worker, empty(worker))).collect();
    for (worker, summary) in &mut workers {
        summary.downloads = holders.get(worker).map_or(0, |slots| slots.len() as u64);
        if let Some(loaded) = windows.loaded {
            count_sessions(summary, join, loaded);
            if visibility != Visibility::ClientsOnly {
                count_steps(summary, records, loaded);
            }
        }
        // Of a process with many threads the samples are of its first alone.
        let of_one = records.manifest.visibility != Visibility::Threads;
        if let Some(measure) = windows.measure.filter(|_| of_one) {
            count_scheduler(summary, &records.samples, measure);
        }
    }
    workers.into_values().collect()
}

fn count_sessions(summary: &mut WorkerSummary, join: &Join<'_>, loaded: Window) {
    let accepted = join.connections.iter().filter(|connection| {
        connection.worker == summary.worker && loaded.contains(connection.accepted_ns)
    });
    summary.sessions = accepted.count() as u64;
}

/// Holds and long turns count with their whole length when any part of them is in the window: a
/// step that outlasts the load is the longest there is.
fn count_steps(summary: &mut WorkerSummary, records: &RunRecords, loaded: Window) {
    let worker = summary.worker;
    let all_holds = records.holds.iter().filter(|hold| hold.worker == worker);
    let longest_ever = all_holds.clone().map(Hold::length_us).max();
    let holds = all_holds.filter(|hold| loaded.overlaps(Window::new(hold.start_ns, hold.end_ns)));
    summary.holds = holds.clone().count() as u64;
    let all_turns = records.turns.iter().filter(|turn| turn.worker == worker);
    let longest_turn_ever = all_turns.clone().map(LoopTurn::length_us).max();
    let turns = all_turns.filter(|turn| loaded.overlaps(Window::new(turn.start_ns, turn.end_ns)));
    let longest_turn = turns.map(LoopTurn::length_us).max();

    let mut totals: Vec<&WorkerTotals> =
        records.totals.iter().filter(|totals| totals.worker == worker).collect();
    totals.sort_by_key(|totals| totals.at_ns);
    let last = totals.last().copied();
    summary.steps = steps_within(&totals, loaded);
    // Without a long one in the window, the longest since the worker began stands for it, as long
    // as it is a short one too: a longer one was elsewhere, unless its record was lost or never came.
    let hold_us = records.manifest.hold_us;
    let full = records.manifest.recording == Recording::Full;
    let lost = last.is_some_and(|totals| totals.records_lost > 0);
    let known = |length: Micros, told: Option<Micros>| {
        let untold = full && told.is_none_or(|told| told < length);
        length < hold_us || lost || untold
    };
    if let Some(hold) = holds.max_by_key(|hold| hold.length_us()) {
        summary.longest_step_us = hold.length_us().0;
        summary.longest_step_bytes = hold.bytes.0;
        summary.longest_step_ended_by = Some(hold.ended_by);
    } else if let Some(totals) = last.filter(|totals| known(totals.longest_step_us, longest_ever)) {
        summary.longest_step_us = totals.longest_step_us.0;
        summary.longest_step_bytes = totals.longest_step_bytes.0;
    }
    let shorter = last.map(|totals| totals.longest_turn_us);
    let shorter = shorter.filter(|&length| known(length, longest_turn_ever));
    summary.longest_loop_turn_us = longest_turn.or(shorter).unwrap_or_default().0;
}

/// Steps between the totals taken just before the window and just after it. Totals that were taken
/// only at the end count from the worker's start.
fn steps_within(totals: &[&WorkerTotals], window: Window) -> u64 {
    let before = totals.iter().rfind(|totals| totals.at_ns <= window.start);
    let after = totals.iter().find(|totals| totals.at_ns >= window.end).or(totals.last());
    let steps = |totals: Option<&&WorkerTotals>| totals.map_or(0, |totals| totals.steps);
    steps(after).saturating_sub(steps(before))
}

/// Records that workers could not hand on, over all of them.
pub(crate) fn records_lost(records: &RunRecords) -> u64 {
    let lost = last_totals(records).into_values().map(|totals| totals.records_lost);
    lost.fold(0, u64::saturating_add)
}

/// Workers that turned clients away or stopped accepting, and how often.
pub(crate) fn accept_pauses(records: &RunRecords) -> Vec<(u32, u64)> {
    let pauses =
        last_totals(records).into_iter().map(|(worker, totals)| (worker, totals.accept_pauses));
    pauses.filter(|(_, pauses)| *pauses > 0).collect()
}

fn last_totals(records: &RunRecords) -> BTreeMap<u32, &WorkerTotals> {
    last(&records.totals, |totals| (totals.at_ns, totals.worker))
}

/// Of each worker what was told last; `of`: when, and by whom.
fn last<T>(told: &[T], of: fn(&T) -> (MonoNs, u32)) -> BTreeMap<u32, &T> {
    let mut in_time: Vec<_> = told.iter().map(|one| (of(one), one)).collect();
    in_time.sort_by_key(|((at, _), _)| *at);
    in_time.into_iter().map(|((_, worker), one)| (worker, one)).collect()
}

/// Differences between the first and the last sample inside the measure phase.
fn count_scheduler(summary: &mut WorkerSummary, samples: &[WorkerSample], measure: Window) {
    let inside = samples
        .iter()
        .filter(|sample| sample.worker == summary.worker && measure.contains(sample.at_ns));
    let first = inside.clone().min_by_key(|sample| sample.at_ns);
    let last = inside.max_by_key(|sample| sample.at_ns);
    let (Some(first), Some(last)) = (first, last) else { return };
    let secs = last.at_ns.since(first.at_ns).as_secs_f64();
    if secs <= 0.0 {
        return;
    }
    let of_ms = |ms: u64| ms as f64 / 1e3 / secs;
    let of_ns = |ns: u64| ns as f64 / 1e9 / secs;
    let grown = |counter: fn(&WorkerSample) -> u64| counter(last).saturating_sub(counter(first));
    let grown_ns = |counter: fn(&WorkerSample) -> Option<u64>| {
        Some(counter(last)?.saturating_sub(counter(first)?))
    };
    let (user_ms, system_ms) = (grown(|s| s.user_ms), grown(|s| s.system_ms));
    let (run_ns, wait_ns) = (grown_ns(|s| s.run_ns), grown_ns(|s| s.run_wait_ns));
    summary.scheduler = match (run_ns, wait_ns) {
        (Some(_), Some(_)) => SchedulerFigures::All,
        _ => SchedulerFigures::NoWait,
    };
    summary.user_share = of_ms(user_ms);
    summary.system_share = of_ms(system_ms);
    summary.cpu_share = run_ns.map_or_else(|| of_ms(user_ms.saturating_add(system_ms)), of_ns);
    summary.wait_share = wait_ns.map_or(0.0, of_ns);
    summary.run_wait_us = wait_ns.unwrap_or(0) / 1_000;
    summary.voluntary_switches = grown(|s| s.voluntary_switches);
    summary.involuntary_switches = grown(|s| s.involuntary_switches);
    summary.voluntary_per_sec = summary.voluntary_switches as f64 / secs;
    summary.involuntary_per_sec = summary.involuntary_switches as f64 / secs;
}

/// System calls of all workers, by name: of each worker the last count there is.
pub(crate) fn calls(records: &RunRecords) -> BTreeMap<String, CallTotal> {
    let last = last(&records.calls, |calls| (calls.at_ns, calls.worker));
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
