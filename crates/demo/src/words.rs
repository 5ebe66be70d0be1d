//! One line of plain words for each act, made of what is known at the moment.
//!
//! Invariant: a figure in a line comes from a record or a summary; where none does, none is claimed.

use records::{Arm, Micros, Outcome, Phase, Summary, Verdict};

use crate::act::{Act, Side};
use crate::arm::{ArmView, Counts, Ending, Stage};
use crate::lane::Holder;

/// A step is worth a sentence from here on: ten turns of it make the cap of a fetch.
const LONG: Micros = Micros(100_000);

/// The line of `act`.
pub(crate) fn line(act: Act, [left, right]: &[ArmView; 2]) -> String {
    match act {
        Act::Opening => opening(&left.plan().arm),
        Act::Idle(Side::Left) => idle(left, "First without downloads"),
        Act::Idle(Side::Right) => idle(right, "Again first without downloads"),
        Act::Load(Side::Left) => load(left, "Now"),
        Act::Load(Side::Right) => load(right, "The same"),
        Act::Result(Side::Left) => result(left, Hoped::Starved),
        Act::Result(Side::Right) => result(right, Hoped::Cured),
        Act::Change => change(right),
        Act::Closing => closing(left, right),
    }
}

fn opening(arm: &Arm) -> String {
    format!(
        "A proxy with {}, and small fetches: each has {}, then is given up.",
        plural(u64::from(arm.workers), "worker"),
        short(arm.cap_us)
    )
}

fn idle(arm: &ArmView, begin: &str) -> String {
    let counts = arm.idle();
    match (counts.attempts(), arm.median(Phase::Idle)) {
        (attempts @ 1.., Some(median)) => {
            format!("{begin}: {} of {attempts} served, half within {median}.", counts.good)
        }
        _ => format!("{begin}: what this machine does when it is idle."),
    }
}

fn load(arm: &ArmView, begin: &str) -> String {
    let counts = arm.load();
    let Arm { slow, slow_size, .. } = arm.plan().arm;
    if counts.attempts() == 0 {
        let downloads = plural(u64::from(slow), "download");
        return format!("{begin} {downloads} of {}. {}", slow_size.exact(), arm.plan().says);
    }
    let failed = failed(counts);
    match arm.longest().filter(|longest| longest.length >= LONG) {
        Some(longest) => {
            let whom = match longest.holder {
                Holder::Download(slot) => format!("download {slot}"),
                Holder::Other => "one connection".to_owned(),
            };
            let (worker, length) = (longest.worker, longest.length);
            format!("{failed}. Worker {worker} served {whom} alone for {}.", short(length))
        }
        None => format!("{failed}. {}", arm.plan().says),
    }
}

/// What the room was promised.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hoped {
    Starved,
    Cured,
}

fn result(arm: &ArmView, hoped: Hoped) -> String {
    match arm.stage() {
        Stage::Over(Ending::Judged(summary)) => judged(summary, hoped),
        Stage::Over(Ending::Broken(why)) => format!("The trial could not be run: {why}"),
        Stage::Waiting | Stage::Running(_) => "The trial has not ended yet.".to_owned(),
    }
}

fn judged(summary: &Summary, hoped: Hoped) -> String {
    let load = counts(summary);
    let failed = failed(load);
    let median = short(Micros(summary.measure.latency_us.p50));
    let idle = short(Micros(summary.idle.latency_us.p50));
    match (summary.verdict, hoped) {
        (Verdict::Inconclusive, _) => {
            let why = summary.verdict_reasons.first().map_or("no reason is given", String::as_str);
            format!("This run proves nothing: {why}.")
        }
        (Verdict::Starved, Hoped::Starved) => {
            format!("Starved: {failed}. Half needed {median} or more; idle {idle}.")
        }
        (verdict, Hoped::Starved) => {
            format!("Not starved this time ({verdict}): {failed}, half within {median}.")
        }
        (Verdict::Starved, Hoped::Cured) => format!("Not cured here, still starved: {failed}."),
        (_, Hoped::Cured) if load.failed == 0 => format!(
            "Cured: all {} served, half within {median}; downloads still {}.",
            load.good, summary.slow.bytes_per_sec
        ),
        (verdict, Hoped::Cured) => format!("Not quite cured ({verdict}): {failed}."),
    }
}

fn change(right: &ArmView) -> String {
    format!("One change: {}. {}", right.plan().change, right.plan().says)
}

fn closing(left: &ArmView, right: &ArmView) -> String {
    let told = |arm: &ArmView| match arm.summary() {
        Some(summary) if summary.verdict == Verdict::Inconclusive => "proves nothing".to_owned(),
        Some(summary) => {
            let Counts { failed, .. } = counts(summary);
            format!("{failed} of {} failed", counts(summary).attempts())
        }
        None => "did not run".to_owned(),
    };
    let rate = |arm: &ArmView| arm.summary().map(|summary| summary.slow.bytes_per_sec);
    let rates = rate(left).zip(rate(right));
    let rates = rates.map_or_else(String::new, |(l, r)| format!(" Downloads: {l}, {r}."));
    format!("Left {}, right {}.{rates}", told(left), told(right))
}

fn counts(summary: &Summary) -> Counts {
    let outcomes = &summary.measure.outcomes;
    Counts { good: outcomes.count(Outcome::Ok), failed: outcomes.failed() }
}

fn failed(counts: Counts) -> String {
    format!("{} of {} fetches failed", counts.failed, counts.attempts())
}

fn plural(count: u64, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// With two digits or so: `1.0 s` for 1.004 s. It is for the back of a room.
pub(crate) fn short(time: Micros) -> String {
    match time.0 {
        1_000_000.. if time.0.is_multiple_of(1_000_000) => format!("{} s", time.0 / 1_000_000),
        1_000_000.. => format!("{:.1} s", time.as_secs()),
        1_000.. => format!("{} ms", time.0 / 1_000),
        us => format!("{us} us"),
    }
}

#[cfg(test)]
mod tests;
