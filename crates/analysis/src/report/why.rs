//! The short form, made from a summary alone: what a report says of the late fetches.

use records::{Cause, CauseShare, LateSummary, Law, LogTruth, Micros, Phase, Summary, WorstFetch};
use serde::Serialize;

/// Causes with less of the late time than this are told together.
const SMALL: f64 = 0.005;

/// Why fetches were late, in a few lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// The phase that the late fetches are of ([`LateSummary::phase`]).
    pub phase: Phase,
    /// Fetches of that phase.
    pub attempts: u64,
    /// Of these, late.
    pub late: u64,
    /// From which response time on a fetch is late; absent: no idle fetch was seen, so only failed
    /// ones are.
    pub limit_us: Option<Micros>,
    /// The late ones' whole time.
    pub time_us: Micros,
    /// The causes, the largest first, `unexplained` always among them; empty when nothing was late.
    pub causes: Vec<CauseShare>,
    /// Causes that are left out above.
    pub others: Option<OtherCauses>,
    /// The fetch that waited longest.
    pub worst: Option<WorstFetch>,
    /// The law, where it says something.
    pub law: Option<ModelReport>,
    /// The log and the truth, where there is something to tell.
    pub log: Option<LogTruth>,
    /// Causes that could not have been shown.
    pub hidden: Vec<HiddenCauses>,
}

/// Several causes, each with a small part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OtherCauses {
    /// How many.
    pub causes: usize,
    /// Their part of the late time together, 0 to 1.
    pub share_of_late_time: f64,
    /// The same as time.
    pub time_us: Micros,
    /// Late fetches of which one of them took the largest part.
    pub fetches: u64,
}

/// Causes that cannot be told, for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenCauses {
    /// Which ones.
    pub causes: Vec<Cause>,
    /// Why.
    pub reason: String,
}

/// The law beside a median that is worth comparing, or is not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelReport {
    /// What it predicts and what was measured.
    #[serde(flatten)]
    pub law: Law,
    /// What the measured median is.
    pub median: Median,
}

/// What a median of fetch times is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Median {
    /// It was measured.
    Measured,
    /// It is the cap of the fetches: half of them or more were cut short, and would have taken
    /// longer.
    Censored,
}

impl ModelReport {
    /// The law of a run; `None` where it says nothing, or no fetch was measured.
    pub fn of(summary: &Summary) -> Option<Self> {
        let law = summary.law.clone().filter(|_| summary.measure.attempts > 0)?;
        let cut = summary.measure.censored > 0 && law.measured_us >= summary.arm.fetch.cap;
        Some(Self { law, median: if cut { Median::Censored } else { Median::Measured } })
    }
}

impl Why {
    /// Why the fetches of a run were late, in at most `most` causes (2 or more). `None` when no
    /// fetch was made in their phase.
    pub fn of(summary: &Summary, most: usize) -> Option<Self> {
        let late = &summary.late;
        let of = if late.phase == Phase::Idle { &summary.idle } else { &summary.measure };
        if of.attempts == 0 {
            return None;
        }
        let (causes, others) = if late.fetches == 0 {
            (Vec::new(), None)
        } else {
            fold(with_unexplained(&summary.causes).collect(), most)
        };
        let log = &summary.log_truth;
        let tells = log.failed > 0 || log.understated > 0 || log.overstated > 0;
        Some(Self {
            phase: late.phase,
            attempts: of.attempts,
            late: late.fetches,
            limit_us: limit(late),
            time_us: late.time_us,
            causes,
            others,
            worst: late.worst.clone(),
            law: ModelReport::of(summary),
            log: tells.then(|| log.clone()),
            hidden: if late.fetches == 0 { Vec::new() } else { hidden_by_reason(late) },
        })
    }
}

/// The limit of a run that has one: without an idle fetch it is as large as it can be.
pub(crate) fn limit(late: &LateSummary) -> Option<Micros> {
    Some(late.limit_us).filter(|limit| *limit < Micros(u64::MAX))
}

/// The causes, with a line for `unexplained` also where nothing is.
pub(crate) fn with_unexplained(causes: &[CauseShare]) -> impl Iterator<Item = CauseShare> {
    let told = causes.iter().any(|share| share.cause == Cause::Unexplained);
    let nothing = CauseShare {
        cause: Cause::Unexplained,
        share_of_late_time: 0.0,
        time_us: Micros(0),
        fetches: 0,
    };
    causes.iter().cloned().chain((!told).then_some(nothing))
}

/// Leaves the largest causes and `unexplained`, `most` together. Of the small ones, one alone keeps
/// its name.
fn fold(causes: Vec<CauseShare>, most: usize) -> (Vec<CauseShare>, Option<OtherCauses>) {
    let large =
        |share: &CauseShare| share.cause != Cause::Unexplained && share.share_of_late_time >= SMALL;
    let kept: Vec<Cause> = causes
        .iter()
        .filter(|share| large(share))
        .map(|share| share.cause)
        .take(most.saturating_sub(1))
        .chain([Cause::Unexplained])
        .collect();
    // A line for one cause is better spent on its name.
    let all_fit = causes.len() <= kept.len() + 1 && kept.len() < most;
    let (shown, small): (Vec<_>, Vec<_>) =
        causes.into_iter().partition(|share| all_fit || kept.contains(&share.cause));
    let others = (!small.is_empty()).then(|| OtherCauses {
        causes: small.len(),
        share_of_late_time: small.iter().map(|share| share.share_of_late_time).sum(),
        time_us: Micros(small.iter().fold(0, |sum, share| share.time_us.0.saturating_add(sum))),
        fetches: small.iter().map(|share| share.fetches).sum(),
    });
    (shown, others)
}

/// Hidden causes by reason, in the order of their first.
pub fn hidden_by_reason(late: &LateSummary) -> Vec<HiddenCauses> {
    let mut groups: Vec<HiddenCauses> = Vec::new();
    for hidden in &late.hidden {
        match groups.iter_mut().find(|group| group.reason == hidden.reason) {
            Some(group) => group.causes.push(hidden.cause),
            None => groups
                .push(HiddenCauses { causes: vec![hidden.cause], reason: hidden.reason.clone() }),
        }
    }
    groups
}

#[cfg(test)]
mod tests;
