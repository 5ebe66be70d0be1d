//! The late fetches of a run: which they are, what held them, which was the worst.

use std::collections::BTreeMap;
use std::time::Duration;

use records::{
    Cause, CauseShare, Fetch, FetchSummary, HiddenCause, HoldingStep, LateSummary, Micros, Phase,
    Recording, Visibility, Watched, WorstFetch,
};

use super::context::{Context, Overflow};
use super::split::FetchSplit;
use crate::thresholds::IdlePhase;

/// A fetch is late from so many times the idle p99 on: an idle machine's own moods stay below.
pub const LATE_FACTOR: u64 = 3;

/// Explains every late fetch: those under load, or those without any where these are no baseline; how many
/// there are, how long they waited and which was the worst, and the causes, the largest first.
pub(crate) fn explain(
    context: &Context<'_>,
    splits: &[FetchSplit],
    idle: &FetchSummary,
    baseline: &IdlePhase,
) -> (LateSummary, Vec<CauseShare>) {
    let (phase, limit_us) = if baseline.stalls() {
        (Phase::Idle, baseline.limit_us)
    } else {
        (Phase::Measure, limit(idle))
    };
    let rule = LateSummary { phase, limit_us, ..LateSummary::default() };
    let splits = late_of(context, splits, &rule);
    let time: Duration = splits.iter().map(|split| split.shares.total()).sum();
    let late = LateSummary {
        fetches: splits.len() as u64,
        time_us: time.into(),
        worst: worst(context, &splits),
        hidden: hidden(context),
        ..rule
    };
    (late, causes(&splits, time))
}

/// From which response time on a fetch is late; the largest there is when nothing idle was seen.
fn limit(idle: &FetchSummary) -> Micros {
    match idle.attempts {
        0 => Micros(u64::MAX),
        _ => Micros(idle.latency_us.p99.saturating_mul(LATE_FACTOR)),
    }
}

/// Of all fetches the late ones, by the phase and the limit of `rule`.
pub(crate) fn late_of<'a>(
    context: &Context<'_>,
    splits: &'a [FetchSplit],
    rule: &LateSummary,
) -> Vec<&'a FetchSplit> {
    let fetches = context.records.fetches.iter().zip(splits);
    fetches.filter(|(fetch, _)| is_late(fetch, rule)).map(|(_, split)| split).collect()
}

/// Whether a fetch is late by the phase and the limit of `rule`.
fn is_late(fetch: &Fetch, rule: &LateSummary) -> bool {
    let slow = fetch.outcome.is_failed() || fetch.response_us > rule.limit_us;
    fetch.phase == rule.phase && slow
}

fn causes(splits: &[&FetchSplit], time: Duration) -> Vec<CauseShare> {
    let mut leading: BTreeMap<Cause, u64> = BTreeMap::new();
    for cause in splits.iter().filter_map(|split| split.shares.largest()) {
        *leading.entry(cause).or_default() += 1;
    }
    let share = |cause| {
        let part: Duration = splits.iter().map(|split| split.shares.of(cause)).sum();
        (!part.is_zero()).then(|| CauseShare {
            cause,
            share_of_late_time: part.as_secs_f64() / time.as_secs_f64(),
            time_us: part.into(),
            fetches: leading.get(&cause).copied().unwrap_or(0),
        })
    };
    let mut causes: Vec<CauseShare> = Cause::ALL.into_iter().filter_map(share).collect();
    causes.sort_by_key(|share| (std::cmp::Reverse(share.time_us), share.cause));
    causes
}

/// The one that waited longest; of those as long as it but for a hundredth, which a cap makes of all that
/// it cuts, one whose holder is known. (The worker of a fetch that nobody accepted is not.)
fn worst(context: &Context<'_>, splits: &[&FetchSplit]) -> Option<WorstFetch> {
    let late = splits.iter().filter_map(|split| late_fetch(context, split));
    let late: Vec<_> = late.filter(|late| late.response_us > Micros(0)).collect();
    let longest = late.iter().map(|late| late.response_us).max()?;
    let near = late.into_iter().filter(|late| late.response_us.0 >= longest.0 - longest.0 / 100);
    let worst = near.max_by_key(|late| {
        let told = late.cause != Cause::HeldByStep || late.step.is_some();
        (told, late.response_us, std::cmp::Reverse(late.fetch))
    })?;
    let step = worst.step.filter(|_| worst.cause == Cause::HeldByStep);
    Some(WorstFetch { step, ..worst })
}

/// One late fetch in a line, with the step of another session in which it waited longest.
pub(crate) fn late_fetch(context: &Context<'_>, split: &FetchSplit) -> Option<WorstFetch> {
    let fetch = context.records.fetches.get(split.index)?;
    // One that ended at once has nothing to divide.
    let cause = split.shares.largest().unwrap_or(Cause::Unexplained);
    Some(WorstFetch {
        fetch: fetch.fetch,
        response_us: fetch.response_us,
        outcome: fetch.outcome,
        worker: split.worker,
        cause,
        cause_us: split.shares.of(cause).into(),
        step: longest_hold(context, &[split]),
    })
}

/// The step of another session in which one of these fetches waited longest.
pub(crate) fn longest_hold(context: &Context<'_>, splits: &[&FetchSplit]) -> Option<HoldingStep> {
    let waits = splits.iter().flat_map(|split| &split.held);
    let (&at, &waited) = waits.max_by_key(|(_, waited)| **waited)?;
    let hold = context.records.holds.get(at)?;
    Some(HoldingStep {
        holder: context.holder(at)?,
        worker: hold.worker,
        length_us: hold.length_us(),
        waited_us: waited.into(),
        bytes: hold.bytes,
        ended_by: hold.ended_by,
    })
}

/// Causes that the records of this run could not have shown.
fn hidden(context: &Context<'_>) -> Vec<HiddenCause> {
    let records = context.records;
    let mut hidden = Vec::new();
    let mut hide = |causes: &[Cause], reason: &str| {
        let reasons = causes.iter().map(|&cause| HiddenCause { cause, reason: reason.to_owned() });
        hidden.extend(reasons);
    };
    let minimal = (records.manifest.recording == Recording::Minimal)
        .then_some("--recording minimal leaves it out");
    let untold = minimal.unwrap_or(untold(records.manifest.visibility));
    // Threads that were traced together have no stretches, and tell of waits and sleeps themselves.
    let is_crowd = !records.threads.is_empty();
    let nothing_told = records.stretches.is_empty() && !is_crowd;
    if nothing_told {
        let told_by_workers = [
            Cause::HeldByStep,
            Cause::Convoy,
            Cause::AcceptQueue,
            Cause::Upstream,
            Cause::OwnTransfer,
        ];
        hide(&told_by_workers, untold);
    }
    let off_cpu = [Cause::OffCpuRunnable, Cause::CpuWithheld, Cause::OffCpuBlocked];
    if !is_crowd && !context.shows_waits() {
        let unseen =
            matches!(records.manifest.visibility, Visibility::LogOnly | Visibility::ClientsOnly);
        let asked = records.sched.iter().any(|sample| matches!(sample.who, Watched::Worker(_)));
        // Of workers that nobody could name, the kernel was not asked.
        let no_schedstat = minimal.unwrap_or("the kernel shows no schedstat of the workers");
        let reason = if unseen && !asked { untold } else { no_schedstat };
        hide(&off_cpu, reason);
    } else if nothing_told {
        hide(&off_cpu, untold);
    }
    if records.manifest.arm.faults.origin_workers.is_some() && records.answered.is_empty() {
        hide(&[Cause::UpstreamWorkers], "the origin told nothing of its requests");
    }
    if context.overflow == Overflow::Hidden {
        let no_counters = minimal.unwrap_or("the kernel shows no netstat counters");
        hide(&[Cause::BacklogOverflow], no_counters);
    }
    hidden
}

/// Why nothing is known of what workers did.
pub(crate) const fn untold(visibility: Visibility) -> &'static str {
    match visibility {
        Visibility::Own | Visibility::Traced | Visibility::Threads => {
            "the workers told nothing of their time"
        }
        Visibility::Sampled => {
            "the workers were looked at, not traced: which step they were in is not known (a trace \
             needs root, and a kernel with BTF)"
        }
        Visibility::LogOnly => "of this proxy only its access log tells",
        Visibility::ClientsOnly => "of this proxy only its clients tell",
    }
}

#[cfg(test)]
mod tests;
