//! Words that every way of telling of a run shares: its outcomes, whose a step was, its verdict.
//!
//! How times, bytes and shares are written stands with their units in `records`.

use records::{Fetch, Holder, Micros, Outcome, OutcomeCounts, Phase, Verdict};

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
