//! A threshold over all rounds of a check.
//!
//! The round in the middle decides, rounds put in order from the best to the worst; of an even number
//! the worse of the two in the middle. A round that proves nothing counts as one whose figure is not
//! known, which stands between those that met and those that breached: so a threshold is met only if
//! more than half of all rounds met it, and breached only if the others could not have saved it.
//!
//! What is made of fetches must hold of those of all rounds together as well: a round of three in
//! which everything fails is no outlier, but a third of all fetches. The worse of the two decides.

use std::path::PathBuf;

use records::{Fetch, FetchTotals, Phase, RunRecords, Side, Summary, Verdict};
use serde::Serialize;

use super::Gate;
use super::threshold::{Held, Threshold};
use crate::fetch_summary;

/// One trial, as far as a gate or a comparison looks at it.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Its run directory, within the campaign's.
    pub dir: PathBuf,
    /// Which round it was, from 0.
    pub round: u32,
    /// What it showed.
    pub summary: Summary,
    /// Its fetches, of all phases.
    pub fetches: Vec<Fetch>,
    /// Those that are only counted.
    pub fetch_totals: Vec<FetchTotals>,
    /// How its proxy failed, if it did: not as a client sees it, but as a process that died, or said
    /// what is no record. A breach, whatever else there is.
    pub proxy_fault: Option<String>,
}

impl Ran {
    /// The trial in `dir` with these records.
    pub fn of(dir: PathBuf, round: u32, summary: Summary, records: RunRecords) -> Self {
        let fault = records.manifest.faults.iter().find(|fault| fault.side == Side::Proxy);
        let proxy_fault =
            fault.map(|fault| format!("{} (in the {} phase)", fault.message, fault.phase.name()));
        Self {
            dir,
            round,
            summary,
            fetches: records.fetches,
            fetch_totals: records.fetch_totals,
            proxy_fault,
        }
    }
}

/// A threshold and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverRounds {
    /// What became of it, with the figure that decided.
    #[serde(flatten)]
    pub decided: Held,
    /// Rounds that met it.
    pub met: usize,
    /// Rounds that breached it.
    pub breached: usize,
    /// Rounds that do not know its figure, or prove nothing.
    pub unknown: usize,
    /// All rounds together; absent: one round, or a figure that cannot be pooled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pooled: Option<Held>,
}

impl OverRounds {
    /// Why it keeps a check from passing; `None`: it was met.
    pub fn reason(&self) -> Option<String> {
        let Held { threshold, outcome, found, .. } = &self.decided;
        let said = match outcome {
            Gate::Passed => return None,
            Gate::Breached => "breached",
            Gate::Inconclusive => "cannot be told",
        };
        Some(format!("{threshold} {said}: {found}"))
    }
}

/// The verdict from which on a check is breached: `--fail-on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum FailOn {
    /// Starved.
    Starved,
    /// Degraded, or starved.
    Degraded,
}

impl OverRounds {
    /// Holds `wanted` rounds against `threshold`, of which `conclusive` prove something.
    pub fn of(threshold: &Threshold, conclusive: &[&Ran], wanted: usize) -> Self {
        let held = conclusive.iter().map(|ran| threshold.hold(&ran.summary));
        let (held, middle) = in_order(held, wanted, &threshold.to_string());
        let can_be_pooled = conclusive.len() > 1 && threshold.is_pooled();
        let pooled = can_be_pooled.then(|| pooled(conclusive)).flatten();
        let pooled = pooled.map(|summary| threshold.hold(&summary));
        let decides = match &pooled {
            Some(pooled) if pooled.outcome > middle.outcome => pooled.clone(),
            _ => middle,
        };
        Self { pooled, ..Self::by(decides, &held) }
    }

    /// Holds the verdicts of `wanted` rounds against `limit`. One round that bad breaches it: what it
    /// suffered is suffered by the fetches of all rounds together. It is met if more than half are known.
    pub fn of_verdicts(limit: FailOn, conclusive: &[&Ran], wanted: usize) -> Self {
        let (threshold, bad): (_, &[Verdict]) = match limit {
            FailOn::Starved => ("verdict is not starved", &[Verdict::Starved]),
            FailOn::Degraded => ("verdict is not degraded", &[Verdict::Degraded, Verdict::Starved]),
        };
        let hold = |ran: &&Ran| {
            let verdict = ran.summary.verdict;
            let outcome = if bad.contains(&verdict) { Gate::Breached } else { Gate::Passed };
            let (threshold, found) = (threshold.to_owned(), verdict.name().to_owned());
            // The worst that was found, of the worse verdict last.
            let strain = f64::from(u8::from(verdict == Verdict::Starved));
            Held { threshold, outcome, found, strain }
        };
        let (held, middle) = in_order(conclusive.iter().map(hold), wanted, threshold);
        let worst = held.last().filter(|held| held.outcome == Gate::Breached).cloned();
        Self::by(worst.unwrap_or(middle), &held)
    }

    fn by(decided: Held, held: &[Held]) -> Self {
        let count = |outcome| held.iter().filter(|held| held.outcome == outcome).count();
        Self {
            decided,
            met: count(Gate::Passed),
            breached: count(Gate::Breached),
            unknown: count(Gate::Inconclusive),
            pooled: None,
        }
    }
}

/// `wanted` rounds from the best to the worst, with those that prove nothing, and the one in the middle.
fn in_order(held: impl Iterator<Item = Held>, wanted: usize, threshold: &str) -> (Vec<Held>, Held) {
    let missing = Held {
        threshold: threshold.to_owned(),
        outcome: Gate::Inconclusive,
        found: "no conclusive run".to_owned(),
        strain: 0.0,
    };
    let mut held: Vec<Held> = held.collect();
    held.resize(held.len().max(wanted).max(1), missing.clone());
    held.sort_by(|left, right| {
        left.outcome.cmp(&right.outcome).then(left.strain.total_cmp(&right.strain))
    });
    let middle = held.get(held.len() / 2).cloned().unwrap_or(missing);
    (held, middle)
}

/// A summary of the fetches of all rounds, as if they were of one; what is not of fetches is the
/// first round's.
fn pooled(conclusive: &[&Ran]) -> Option<Summary> {
    let fetches: Vec<Fetch> =
        conclusive.iter().flat_map(|ran| ran.fetches.iter().cloned()).collect();
    let totals: Vec<FetchTotals> =
        conclusive.iter().flat_map(|ran| ran.fetch_totals.iter().cloned()).collect();
    Some(Summary {
        idle: fetch_summary(&fetches, &totals, Phase::Idle),
        measure: fetch_summary(&fetches, &totals, Phase::Measure),
        ..conclusive.first()?.summary.clone()
    })
}
