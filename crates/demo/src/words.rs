//! One line of plain words for each act, made of what is known at the moment.
//!
//! Invariant: a figure in a line comes from a record or a summary; where none does, none is claimed.

use records::{Arm, Holder, Micros, Phase, SlowToggles, Summary, Verdict, count};
use report::words::{failed, lead};

use crate::act::{Act, Side};
use crate::arm::{ArmView, Counts, Stage};

/// A step is worth a sentence from here on: ten turns of it make the cap of a fetch.
const LONG: Micros = Micros(100_000);

/// The line of `act`.
pub(crate) fn line(act: Act, [left, right]: &[ArmView; 2]) -> String {
    match act {
        Act::Opening => opening(&left.plan.arm),
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
        count(arm.proxy.workers.into(), "worker", "workers"),
        arm.fetch.cap
    )
}

fn idle(arm: &ArmView, begin: &str) -> String {
    match arm.median(Phase::Idle) {
        Some(median) => {
            let Counts { good, .. } = arm.idle();
            format!("{begin}: {good} of {} served, half in {median}.", arm.idle().attempts())
        }
        None => format!("{begin}: what this machine does when it is idle."),
    }
}

fn load(arm: &ArmView, begin: &str) -> String {
    let counts = arm.load();
    let SlowToggles { slow, slow_size, .. } = arm.plan.arm.load;
    if counts.attempts() == 0 {
        let downloads = count(slow.into(), "download", "downloads");
        return format!("{begin} {downloads} of {}. {}", slow_size.exact(), arm.plan.says);
    }
    let failed = format!("{} of {} fetches failed", counts.failed, counts.attempts());
    match arm.longest().filter(|(hold, _)| hold.length_us() >= LONG) {
        Some((hold, holder)) => {
            let (worker, whom, length) = (hold.worker, self::holder(holder), hold.length_us());
            format!("{failed}. Worker {worker} served {whom} alone for {length}.")
        }
        None => format!("{failed}. {}", arm.plan.says),
    }
}

/// Whom a step served.
pub(crate) fn holder(holder: Holder) -> String {
    match holder {
        Holder::Download(_) | Holder::Upload(_) => report::words::holder(holder),
        Holder::Fetch(_) | Holder::Session(_) => "another connection".to_owned(),
    }
}

/// What the room was promised.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hoped {
    Starved,
    Cured,
}

fn result(arm: &ArmView, hoped: Hoped) -> String {
    match &arm.stage {
        Stage::Over(Ok(summary)) => judged(summary, hoped),
        Stage::Over(Err(why)) => format!("The trial could not be run: {why}"),
        Stage::Waiting | Stage::Running(_) => "The trial has not ended yet.".to_owned(),
    }
}

/// Two lines of a screen of 80, of which words leave some cells empty.
const ROOM: usize = 140;

/// Whether the promise was kept, and the reasons that the trial itself gives for its verdict: all of them, or
/// the first where there is no room.
pub(crate) fn judged(summary: &Summary, hoped: Hoped) -> String {
    let lead = match (summary.verdict, hoped) {
        (Verdict::Inconclusive, _) => "This run proves nothing",
        (Verdict::Starved, Hoped::Cured) => "Not cured here, still starved",
        (Verdict::Degraded | Verdict::Healthy, Hoped::Starved) => "Not starved here",
        (Verdict::Healthy, Hoped::Cured) => "Cured",
        (Verdict::Starved | Verdict::Degraded, _) => lead(summary.verdict),
    };
    let all = format!("{lead}: {}.", summary.verdict_reasons.join("; "));
    match summary.verdict_reasons.first() {
        Some(first) if all.chars().count() > ROOM => format!("{lead}: {first}."),
        _ => all,
    }
}

fn change(right: &ArmView) -> String {
    format!("One change: {}. {}", right.plan.change, right.plan.says)
}

fn closing(left: &ArmView, right: &ArmView) -> String {
    let told = |arm: &ArmView| match arm.summary() {
        Some(summary) if summary.verdict == Verdict::Inconclusive => "proves nothing".to_owned(),
        Some(Summary { measure, .. }) => format!("{} failed", failed(&measure.outcomes)),
        None => "did not run".to_owned(),
    };
    let rate = |arm: &ArmView| arm.summary().map(|summary| summary.slow.bytes_per_sec);
    let rates = rate(left).zip(rate(right));
    let rates = rates.map_or_else(String::new, |(l, r)| format!(" Downloads: {l}, {r}."));
    format!("Left {}, right {}.{rates}", told(left), told(right))
}
