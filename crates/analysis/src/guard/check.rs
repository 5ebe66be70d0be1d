//! A check: all thresholds and the baseline in one word, and why.
//!
//! Invariants: `passed` needs every gate to have held. What is not known is `inconclusive`; what is
//! breached is `breached`, whatever else is not known. A proxy that failed as a process breaches every
//! gate: only what the host or the load spoilt is tried again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use records::{ArmSpec, Program, SCHEMA_VERSION, Verdict};
use serde::{Serialize, Serializer};
use stats::Reading;

use super::baseline::{Against, Baseline, MIN_ROUNDS, Origin, Today};
use super::rounds::{FailOn, OverRounds, Ran};
use super::threshold::Threshold;
use super::{ERROR, Gate, figures};
use crate::window::grouped;

/// The document of a check: `check.json`, and what `--json` prints. Fields are only ever added.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Version of `turnstile`.
    pub version: String,
    /// The word: `passed`, `breached` or `inconclusive`.
    #[serde(serialize_with = "named")]
    pub outcome: Gate,
    /// What the process ends with, unless a signal ends it.
    pub exit_code: u8,
    /// Why, the weightiest first; then which trials proved nothing.
    pub reasons: Vec<String>,
    /// What could not be written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// The signal that cut it short, as `SIGINT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<String>,
    /// What was run.
    pub arm: ArmSpec,
    /// The foreign program under test; absent: the mirror, or one that ran already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
    /// Rounds wanted and rounds that prove something.
    pub rounds: Rounds,
    /// The thresholds, as given.
    pub thresholds: Vec<OverRounds>,
    /// Today against the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Against>,
    /// Where a new baseline was saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<PathBuf>,
    /// Every trial, in the order of their end.
    pub trials: Vec<TrialRow>,
    /// The directory of the campaign.
    pub records: PathBuf,
}

fn named<S: Serializer>(gate: &Gate, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(gate.name())
}

/// How many rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rounds {
    /// Wanted.
    pub wanted: usize,
    /// Of these, conclusive.
    pub conclusive: usize,
    /// Most attempts at each.
    pub attempts: u32,
    /// Trials that proved nothing and were tried again. A check that passed nevertheless is flaky.
    pub retried: usize,
}

/// One trial of a check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrialRow {
    /// Its number, from 1.
    pub trial: usize,
    /// Its run directory, within [`Check::records`].
    pub dir: PathBuf,
    /// What it proves.
    pub verdict: Verdict,
    /// Why, in a sentence.
    pub reason: String,
    /// How its proxy failed, if it did: a breach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_fault: Option<String>,
    /// Its figures: times in us, rates in bytes a second.
    pub figures: BTreeMap<String, Reading>,
}

/// What was asked for and what was run.
#[derive(Debug)]
pub struct Asked<'a> {
    /// The thresholds.
    pub thresholds: &'a [Threshold],
    /// From which verdict on it is breached.
    pub fail_on: Option<FailOn>,
    /// The baseline, its file, and in what today differs from it, where it may ([`Baseline::against`]).
    pub baseline: Option<(&'a Baseline, PathBuf, Option<Vec<String>>)>,
    /// Whether a baseline is to be saved.
    pub save: Save,
    /// Rounds wanted.
    pub rounds: usize,
    /// Most attempts at each.
    pub attempts: u32,
}

/// Whether a baseline is to be saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Save {
    /// It is.
    Wanted,
    /// It is not.
    No,
}

impl Check {
    /// The check of these trials, in the order of their end.
    pub fn of(
        asked: Asked<'_>,
        arm: ArmSpec,
        records: PathBuf,
        trials: &[Ran],
        interrupted: Option<String>,
    ) -> Self {
        let conclusive: Vec<&Ran> = conclusive(trials).collect();
        let over = |threshold| OverRounds::of(threshold, &conclusive, asked.rounds);
        let mut thresholds: Vec<OverRounds> = asked.thresholds.iter().map(over).collect();
        let verdicts = |limit| OverRounds::of_verdicts(limit, &conclusive, asked.rounds);
        thresholds.extend(asked.fail_on.map(verdicts));
        let baseline = asked.baseline.map(|(baseline, file, accepted)| {
            baseline.against(&file, accepted, today(trials, asked.rounds))
        });
        let too_few = conclusive.len() < MIN_ROUNDS || 2 * conclusive.len() <= asked.rounds;
        let unsaved = (asked.save == Save::Wanted && too_few).then_some(Gate::Inconclusive);
        let cut = interrupted.is_some().then_some(Gate::Inconclusive);
        let outcomes = thresholds.iter().map(|over| over.decided.outcome);
        let outcomes = outcomes.chain(baseline.as_ref().map(|against| against.outcome));
        let is_down = trials.iter().any(|ran| ran.proxy_fault.is_some());
        let outcomes = outcomes.chain(is_down.then_some(Gate::Breached));
        let outcome = outcomes.chain(unsaved).chain(cut).max().unwrap_or(Gate::Passed);
        let mut check = Self {
            schema_version: SCHEMA_VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            outcome,
            exit_code: outcome.exit_code(),
            reasons: Vec::new(),
            errors: Vec::new(),
            interrupted,
            arm,
            program: trials.iter().rev().find_map(|ran| ran.summary.program.clone()),
            rounds: Rounds {
                wanted: asked.rounds,
                conclusive: conclusive.len(),
                attempts: asked.attempts,
                retried: trials.len().saturating_sub(asked.rounds),
            },
            thresholds,
            baseline,
            saved: None,
            trials: (1..).zip(trials).map(|(number, trial)| TrialRow::of(number, trial)).collect(),
            records,
        };
        check.reasons = check.why(unsaved.is_some());
        check
    }

    /// Something that was asked for could not be written, as this says. A breach stays one; whatever
    /// else the gate says, the process ends with an error: somebody waits for what is not there.
    pub fn could_not_write(&mut self, what: String) {
        self.errors.push(what);
        if self.outcome != Gate::Breached {
            self.exit_code = ERROR;
        }
    }

    /// The word, which says of a pass whether it took more attempts than rounds: test runners call such
    /// a test flaky.
    pub const fn word(&self) -> &'static str {
        if self.is_flaky() { "passed (flaky)" } else { self.outcome.name() }
    }

    /// Whether it passed only after trials that proved nothing.
    pub const fn is_flaky(&self) -> bool {
        matches!(self.outcome, Gate::Passed) && self.rounds.retried > 0
    }

    /// Breaches first, then what is not known; of a check that passed, that it did. Then the trials
    /// that proved nothing: a pass at the third attempt is one, and the first two are told.
    fn why(&self, unsaved: bool) -> Vec<String> {
        let down =
            self.trials.iter().filter_map(|trial| Some((trial, trial.proxy_fault.as_ref()?)));
        let mut said: Vec<String> = down
            .map(|(trial, fault)| format!("the proxy failed in trial {}: {fault}", trial.trial))
            .collect();
        let with =
            |outcome| self.thresholds.iter().filter(move |over| over.decided.outcome == outcome);
        said.extend(with(Gate::Breached).filter_map(OverRounds::reason));
        if let Some(against) = &self.baseline {
            let word = match against.outcome {
                Gate::Breached => "regressed against the baseline",
                Gate::Inconclusive => "the baseline could not be compared with",
                Gate::Passed => "",
            };
            if against.outcome != Gate::Passed {
                said.push(format!("{word}: {}", against.reasons().join("; ")));
            }
        }
        said.extend(with(Gate::Inconclusive).filter_map(OverRounds::reason));
        if unsaved {
            said.push(format!(
                "no baseline was saved: {} of {} rounds are conclusive; it takes {MIN_ROUNDS}, and \
                 more than half",
                self.rounds.conclusive, self.rounds.wanted
            ));
        }
        if let Some(signal) = &self.interrupted {
            said.push(format!("cut short by {signal}"));
        }
        if said.is_empty() {
            said.push("everything held".to_owned());
        }
        said.extend(proved_nothing(&self.trials));
        said
    }

    /// The baseline that these trials make, if they may: a check that did not pass makes none.
    pub fn new_baseline(&self, origin: Origin, trials: &[Ran]) -> Option<Baseline> {
        let made = || today(trials, self.rounds.wanted);
        let passed = self.outcome == Gate::Passed;
        passed.then(|| Baseline::new(origin, self.program.clone(), made()))
    }
}

impl TrialRow {
    fn of(trial: usize, Ran { dir, summary, proxy_fault, .. }: &Ran) -> Self {
        Self {
            trial,
            dir: dir.clone(),
            verdict: summary.verdict,
            reason: summary.verdict_reasons.first().cloned().unwrap_or_default(),
            proxy_fault: proxy_fault.clone(),
            figures: figures::trial(summary).readings,
        }
    }
}

fn conclusive(trials: &[Ran]) -> impl Iterator<Item = &Ran> {
    trials.iter().filter(|ran| ran.summary.verdict != Verdict::Inconclusive)
}

fn today(trials: &[Ran], wanted: usize) -> Today {
    Today {
        rounds: conclusive(trials).map(|ran| figures::trial(&ran.summary)).collect(),
        wanted,
        sights: conclusive(trials).map(|ran| ran.summary.visibility).collect::<BTreeSet<_>>(),
    }
}

/// Every kind of reason why trials proved nothing, with how many had it and the last that had: a dead
/// proxy among disturbed trials is told as well.
fn proved_nothing(trials: &[TrialRow]) -> Vec<String> {
    let inconclusive = trials
        .iter()
        .filter(|trial| trial.verdict == Verdict::Inconclusive && trial.proxy_fault.is_none());
    // The same reason says other figures each time.
    let kind = |trial: &TrialRow| trial.reason.replace(|letter: char| letter.is_ascii_digit(), "");
    let kinds = grouped(inconclusive.map(|trial| (kind(trial), trial)));
    let mut kinds: Vec<Vec<&TrialRow>> = kinds.into_values().collect();
    kinds.sort_by_key(|kind| kind.first().map(|trial| trial.trial));
    let all = trials.len();
    let said = |kind: &Vec<&TrialRow>| {
        let TrialRow { trial, reason, .. } = kind.last()?;
        Some(match kind.len() {
            1 => format!("trial {trial} of {all} is inconclusive: {reason}"),
            many => format!("{many} of {all} trials are inconclusive; trial {trial}: {reason}"),
        })
    };
    kinds.iter().filter_map(said).collect()
}

#[cfg(test)]
mod tests;
