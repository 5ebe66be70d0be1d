//! Words and sentences that every way of telling of a run shares: its outcomes, whose a step was, its
//! verdict, its late fetches.
//!
//! How times, bytes and shares are written stands with their units in `records`.

use analysis::LATE_FACTOR;
use analysis::report::{HiddenCauses, Median, ModelReport};
use records::{
    Cause, Fetch, Holder, HoldingStep, LogTruth, Micros, Outcome, OutcomeCounts, Phase, Verdict,
    WorstFetch,
};

use crate::text::layout::{figure, short_bytes};

/// What is said of a fetch that ended so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutcomeWords {
    /// For a legend: `gave up: no byte came`.
    pub short: &'static str,
    /// Before the time it took: `gave up after`.
    pub before: &'static str,
    /// Behind it: ` without one byte of its answer`.
    pub behind: &'static str,
}

/// The words of an outcome.
pub const fn outcome(outcome: Outcome) -> OutcomeWords {
    let (short, before, behind) = match outcome {
        Outcome::Ok => ("served", "was served after", ""),
        Outcome::TimeoutConnect => {
            ("gave up: no connection", "gave up after", ", still not connected")
        }
        Outcome::TimeoutNoByte => {
            ("gave up: no byte came", "gave up after", " without one byte of its answer")
        }
        Outcome::TimeoutPartial => ("gave up half-way", "gave up after", " inside its answer"),
        Outcome::Refused => ("refused", "was refused after", ""),
        Outcome::Reset => ("reset", "was reset after", ""),
        Outcome::ClosedEarly => ("closed early", "was closed early, after", ""),
        Outcome::BadStatus => ("bad status", "got a bad status after", ""),
        Outcome::LocalError => {
            ("could not be tried", "could not be tried by its own host, which took", "")
        }
    };
    OutcomeWords { short, before, behind }
}

/// Whose step it was: `download 3`, `fetch 41`, `session 7`.
pub fn holder(holder: Holder) -> String {
    match holder {
        Holder::Download(slot) => format!("download {slot}"),
        Holder::Fetch(number) => format!("fetch {number}"),
        Holder::Session(number) => format!("session {number}"),
    }
}

/// A verdict at the start of a sentence.
pub const fn lead(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Starved => "Starved",
        Verdict::Degraded => "Degraded",
        Verdict::Healthy => "Healthy",
        Verdict::Inconclusive => "Inconclusive",
    }
}

/// Those that failed, of those that could be tried: `53 of 80`.
pub fn failed(outcomes: &OutcomeCounts) -> String {
    format!("{} of {}", outcomes.failed(), outcomes.tried())
}

/// Where and when a fetch came, and how it ended: `Fetch 7 came to worker 0 at 4.231 s and gave up
/// after 1.001 s inside its answer.`
pub(crate) fn fetch(fetch: &Fetch, start: Micros, worker: Option<u32>) -> String {
    let OutcomeWords { before, behind, .. } = outcome(fetch.outcome);
    let idle = if fetch.phase == Phase::Idle { " (idle)" } else { "" };
    let worker = worker.map_or_else(|| "no known worker".to_owned(), |w| format!("worker {w}"));
    let (number, total) = (fetch.fetch, fetch.total_us);
    format!("Fetch {number}{idle} came to {worker} at {start} and {before} {total}{behind}.")
}

/// Which fetches are late: `: failed, or over 15.0 ms (3 x idle p99)`, to follow their number.
pub(crate) fn which_are_late(phase: Phase, limit: Option<Micros>) -> String {
    match (phase, limit) {
        (_, None) => ": failed (without idle fetches none counts as slow)".to_owned(),
        (Phase::Idle, Some(limit)) => {
            format!(" without any load, which is no baseline: failed, or over {limit}")
        }
        (_, Some(limit)) => format!(": failed, or over {limit} ({LATE_FACTOR} x idle p99)"),
    }
}

/// `fetch 17 waited 1.004 s: 998 ms inside one step of download 3 on worker 1, 412 MiB, ended by
/// EAGAIN from the upstream`.
pub(crate) fn worst(worst: &WorstFetch) -> String {
    let WorstFetch { fetch, response_us, cause, cause_us, .. } = worst;
    let told = match &worst.step {
        // Part of the time in a step may be another cause's: its worker had no CPU.
        Some(held) if held.waited_us >= *cause_us => {
            format!("{} inside one step of {}", held.waited_us, step(held))
        }
        Some(held) => format!(
            "{cause_us} inside steps of others, {} of it in one of {}",
            held.waited_us,
            step(held)
        ),
        None => format!("{cause_us} {}", waited_for(*cause, worst.worker)),
    };
    format!("fetch {fetch} waited {response_us}: {told}")
}

/// `download 3 on worker 1, 412 MiB, ended by EAGAIN from the upstream`.
pub(crate) fn step(step: &HoldingStep) -> String {
    let HoldingStep { worker, bytes, ended_by, .. } = step;
    let (holder, bytes) = (holder(step.holder), short_bytes(*bytes));
    format!("{holder} on worker {worker}, {bytes}, ended by {}", ended_by.words())
}

/// What a time went to, to follow it.
fn waited_for(cause: Cause, worker: Option<u32>) -> String {
    let worker =
        worker.map_or_else(|| "the worker".to_owned(), |worker| format!("worker {worker}"));
    match cause {
        Cause::HeldByStep => format!("inside steps of others on {worker}"),
        Cause::AcceptQueue => format!("in the listener's queue while {worker} turned"),
        Cause::BacklogOverflow => {
            "for its handshake, dropped because the listener's queue was full".to_owned()
        }
        Cause::OffCpuRunnable => format!("for {worker}, ready but without a CPU"),
        Cause::OffCpuBlocked => format!("for {worker}, asleep in a call other than its poll"),
        Cause::Upstream => "for the origin to answer or send".to_owned(),
        Cause::OwnTransfer => "for its own bytes to move".to_owned(),
        Cause::Client => "for its own client".to_owned(),
        Cause::Unexplained => "that nothing recorded explains".to_owned(),
        _ => format!("{} on {worker}", cause.words()),
    }
}

/// `37.4 ms predicted: (52 turns x 2 downloads x 176 KiB + 3.0 MiB) / 560 MB/s; 29.0 ms measured`.
pub(crate) fn law(story: &ModelReport) -> String {
    let law = &story.law;
    let (turns, downloads) = (figure(law.turns), figure(law.downloads_per_worker));
    let (step, rate) = (short_bytes(law.bytes_per_step), law.drain_rate);
    let predicted = format!(
        "{} predicted: ({turns} turns x {downloads} downloads x {step} + {}) / {rate}",
        law.predicted_us,
        short_bytes(law.fetch_bytes)
    );
    match story.median {
        Median::Measured => format!("{predicted}; {} measured", law.measured_us),
        Median::Censored => {
            format!("{predicted}; measured {}, which is the cap", law.measured_us)
        }
    }
}

/// `62 failed: 18 logged as 200, 2 not at all; times up to 1.004 s off`.
pub(crate) fn log(truth: &LogTruth) -> String {
    let LogTruth { failed, called_ok, unlogged, largest_gap_us, .. } = truth;
    if *failed == 0 {
        return format!("none failed; logged times up to {largest_gap_us} off");
    }
    format!(
        "{failed} failed: {called_ok} logged as 200, {unlogged} not at all; times up to \
         {largest_gap_us} off"
    )
}

/// `off_cpu_runnable, off_cpu_blocked: the kernel shows no schedstat of the workers`.
pub(crate) fn hidden(groups: &[HiddenCauses]) -> String {
    let groups: Vec<String> =
        groups.iter().map(|group| format!("{}: {}", names(&group.causes), group.reason)).collect();
    groups.join("; ")
}

/// `convoy, client`.
pub(crate) fn names(causes: &[Cause]) -> String {
    let names: Vec<&str> = causes.iter().map(|cause| cause.name()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests;
