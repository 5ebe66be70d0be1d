//! Words and sentences that every way of telling of a run shares: its outcomes, whose a step was, its
//! verdict, its late fetches.
//!
//! How times, bytes and shares are written stands with their units in `records`.

use analysis::LATE_FACTOR;
use analysis::report::{Explanation, Held};
use records::{
    Bytes, Cause, CauseShare, Fetch, HiddenCause, Holder, HoldingStep, LateSummary, LogTruth,
    Micros, Outcome, Phase, ProxyKind, Summary, WorstFetch, percent,
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
        Holder::Upload(slot) => format!("upload {slot}"),
        Holder::Fetch(number) => format!("fetch {number}"),
        Holder::Session(number) => format!("session {number}"),
    }
}

/// Which foreign program was under test, in a word or two; `None`: the mirror.
pub(crate) fn program(summary: &Summary) -> Option<String> {
    let kind = &summary.arm.server.kind;
    let version = summary.program.as_ref().map(|program| program.version.as_str());
    let version = version.filter(|version| !version.is_empty());
    (*kind != ProxyKind::Mirror).then(|| version.map_or_else(|| kind.to_string(), str::to_owned))
}

/// What a run is called: the settings that tell it from others. What the mirror would have done says nothing of
/// a foreign program.
pub(crate) fn title(summary: &Summary) -> String {
    let arm = &summary.arm;
    let buffer = arm.rcvbuf().map(|size| format!(", receive buffer {}", size.exact()));
    let buffer = buffer.unwrap_or_default();
    match (program(summary), arm.proxy.reuseport) {
        (Some(program), _) => format!("{program}{buffer}"),
        (None, true) => format!("mirror, a listener per worker{buffer}, {}", arm.proxy.read_policy),
        (None, false) => {
            format!("mirror, one listener for all{buffer}, {}", arm.proxy.read_policy)
        }
    }
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

/// Which fetches are explained, and how much of their time.
pub(crate) fn late(story: &Explanation) -> String {
    let late = &story.summary.late;
    let which = match (late.phase, story.late_limit_us()) {
        (_, None) => " that failed (without idle fetches none counts as slow)".to_owned(),
        (Phase::Idle, Some(limit)) => {
            format!(" without any load, which is no baseline, that failed or took over {limit}")
        }
        (_, Some(limit)) => {
            format!(" that failed or took over {limit} ({LATE_FACTOR} x idle p99)")
        }
    };
    if late.fetches == 0 {
        return format!("no fetch{which}");
    }
    let unexplained = match story.unexplained() {
        None => ", all of it explained".to_owned(),
        Some(share) => {
            let part = percent(share.share_of_late_time);
            format!("; {part} of it, {}, remains unexplained", share.time_us)
        }
    };
    format!("{} fetches{which}; {} in all{unexplained}", late.fetches, late.time_us)
}

/// Where most of the delay went: `97 % of the delay: a worker stuck serving one download`; `None`: no
/// fetch was late.
pub fn causes(summary: &Summary) -> Option<String> {
    /// What has less is in the details.
    const LARGE: f64 = 0.1;
    /// And so are more than these.
    const MOST: usize = 2;
    let late = &summary.late;
    let of = if late.phase == Phase::Idle { "delay without any load" } else { "delay" };
    let said = |(place, share): (usize, &CauseShare)| {
        let part = percent(share.share_of_late_time);
        let of = if place == 0 { format!(" of the {of}") } else { String::new() };
        format!("{part}{of}: {}", cause(share.cause, late))
    };
    let large =
        |(place, share): &(usize, &CauseShare)| *place == 0 || share.share_of_late_time >= LARGE;
    let causes: Vec<String> =
        summary.causes.iter().take(MOST).enumerate().filter(large).map(said).collect();
    (!causes.is_empty()).then(|| causes.join("; "))
}

/// A cause for someone who knows none of them.
fn cause(cause: Cause, late: &LateSummary) -> String {
    let held = late.worst.as_ref().and_then(|worst| worst.step.as_ref()).map(|step| step.holder);
    let whom = match held {
        Some(Holder::Download(_)) => "serving one download",
        Some(Holder::Upload(_)) => "with one upload",
        _ => "serving one connection",
    };
    match (cause, late.hidden.first()) {
        (Cause::HeldByStep, _) => format!("a worker stuck {whom}"),
        (Cause::Unexplained, Some(HiddenCause { reason, .. })) => {
            format!("{} ({reason})", cause.words())
        }
        _ => cause.words().to_owned(),
    }
}

/// `request 17 waited 1.004 s on worker 1 behind download 3 (412 MiB in one step)`.
pub(crate) fn worst(worst: &WorstFetch) -> String {
    /// A part of the wait that is as good as all of it.
    const ALL: f64 = 0.9;
    let WorstFetch { fetch, response_us, cause, cause_us, step, .. } = worst;
    let worker = worst.worker.or(step.as_ref().map(|step| step.worker));
    let on = worker.map_or_else(String::new, |worker| format!(" on worker {worker}"));
    let of_it = if cause_us.as_secs() >= ALL * response_us.as_secs() {
        String::new()
    } else {
        format!(", {cause_us} of it")
    };
    let told = match step {
        None => format!(": {}", cause.words()),
        Some(held) => {
            let (whose, moved) = (holder(held.holder), moved(held.bytes));
            // Part of the time in a step may be another cause's: its worker had no CPU.
            match held.waited_us >= *cause_us {
                true => format!(" behind {whose} ({moved} in one step)"),
                false => format!(" behind steps of others, the longest of {whose} ({moved})"),
            }
        }
    };
    format!("request {fetch} waited {response_us}{on}{of_it}{told}")
}

/// `download 3 held 14 fetches for 9.200 s in 6 steps, the longest 2.400 s (1.2 GiB)`.
pub(crate) fn held(held: &Held) -> String {
    let fetches = if held.fetches == 1 { "fetch" } else { "fetches" };
    let (who, length) = (holder(held.holder), held.longest_us);
    let bytes = short_bytes(held.longest_bytes);
    let steps = match held.steps {
        1 => format!("1 step of {length} ({bytes})"),
        steps => format!("{steps} steps, the longest {length} ({bytes})"),
    };
    format!("{who} held {} {fetches} for {} in {steps}", held.fetches, held.waited_us)
}

/// What a long step moved: one with no more than the heads of a request and an answer did something else.
fn moved(bytes: Bytes) -> String {
    const HEADS: Bytes = Bytes::kib(4);
    let did = if bytes < HEADS { " moved: it computed or waited" } else { "" };
    format!("{}{did}", short_bytes(bytes))
}

/// `download 3 on worker 1, 412 MiB, ended by EAGAIN from the upstream`.
pub(crate) fn step(step: &HoldingStep) -> String {
    let HoldingStep { worker, bytes, ended_by, .. } = step;
    let (holder, bytes) = (holder(step.holder), moved(*bytes));
    format!("{holder} on worker {worker}, {bytes}, ended by {}", ended_by.words())
}

/// `37.4 ms predicted: (52 turns x 2 downloads x 176 KiB + 3.0 MiB) / 560 MB/s; 29.0 ms measured`;
/// `None`: the law says nothing, or no fetch was measured.
pub(crate) fn law(summary: &Summary) -> Option<String> {
    let law = summary.law.as_ref().filter(|_| summary.measure.attempts > 0)?;
    let (turns, downloads) = (figure(law.turns), figure(law.downloads_per_worker));
    let (step, rate) = (short_bytes(law.bytes_per_step), law.drain_rate);
    let (predicted, fetch) = (law.predicted_us, short_bytes(law.fetch_bytes));
    let measured = law.measured_us;
    let measured = if summary.median_is_cap() {
        format!("measured {measured}, which is the cap")
    } else {
        format!("{measured} measured")
    };
    Some(format!(
        "{predicted} predicted: ({turns} turns x {downloads} downloads x {step} + {fetch}) / {rate}; \
         {measured}"
    ))
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
pub(crate) fn hidden(groups: &[(&str, Vec<Cause>)]) -> String {
    let groups: Vec<String> =
        groups.iter().map(|(reason, causes)| format!("{}: {reason}", names(causes))).collect();
    groups.join("; ")
}

/// `convoy, client`.
pub(crate) fn names(causes: &[Cause]) -> String {
    let names: Vec<&str> = causes.iter().map(|cause| cause.name()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests;
