//! A baseline: rounds that were saved, and those of today against them.
//!
//! Saved rounds and new ones were not run in turn. Round 1 of today stands beside round 1 of then,
//! which is as good as any other order: the rounds of one side have nothing to do with those of the
//! other, so the differences scatter by what both sides do, and the rule asks for more. What moved
//! *all* rounds of a day does not cancel; only the control (fetches without load) can tell.
//! `docs/ci.md` says what follows.
//!
//! Invariants: a baseline is compared with what was made on the same kernel, CPUs and arm, unless
//! somebody said otherwise; a file that is no whole baseline is refused before any trial runs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use records::{Arm, Micros, Program, SCHEMA_VERSION};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stats::{Judgement, Metric, Round, Seed, Settings, Trial, judge};

use super::gate;
use super::threshold::Outcome;
use crate::trial::TrialPlan;
use crate::trial::host;

/// Rounds of one arm on one host, saved: the document of `--save-baseline`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// What this document is.
    pub kind: Kind,
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Version of `turnstile`.
    pub version: String,
    /// UTC, ISO 8601.
    pub saved_at: String,
    /// Where and of what it was made.
    #[serde(flatten)]
    pub origin: Origin,
    /// The foreign program under test; absent: the mirror, or one that ran already.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub program: Option<Program>,
    /// The conclusive trials, in the order of their end.
    pub rounds: Vec<Trial>,
}

/// The only kind there is: no other document is taken for a baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A baseline.
    #[default]
    #[serde(rename = "turnstile baseline")]
    Baseline,
}

/// What must be the same for a comparison to mean anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The machine.
    pub host: BaselineHost,
    /// The setting of all toggles.
    pub arm: Arm,
    /// Length of the idle phase.
    pub idle_us: Micros,
    /// Length of the measure phase.
    pub measure_us: Micros,
    /// Steps and loop turns from this length on are recorded one by one.
    pub hold_us: Micros,
}

/// The machine of a baseline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineHost {
    /// `uname -r`.
    pub kernel: String,
    /// CPU model.
    pub cpu_model: String,
    /// CPUs online.
    pub cpus: usize,
}

/// Today's rounds against a baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Against {
    /// Its file.
    pub file: PathBuf,
    /// When it was saved.
    pub saved_at: String,
    /// The foreign program of then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
    /// In what today differs from then; not empty only with `--cross-host`.
    pub differs: Vec<String>,
    /// Met: nothing regressed.
    pub outcome: Outcome,
    /// All that led there; A is the baseline, B is today.
    pub judgement: Judgement,
}

/// Fewest rounds that a baseline has: with fewer nothing could ever be compared.
pub const MIN_ROUNDS: usize = 3;

impl Origin {
    /// Of a trial that is about to be run here.
    pub fn of(plan: &TrialPlan) -> Self {
        let micros =
            |time: std::time::Duration| Micros(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        let machine = host::read(&plan.cpus);
        Self {
            host: BaselineHost {
                kernel: machine.kernel,
                cpu_model: machine.cpu_model,
                cpus: machine.cpus,
            },
            arm: plan.arm.clone(),
            idle_us: micros(plan.idle),
            measure_us: micros(plan.measure),
            hold_us: plan.hold,
        }
    }

    /// In what `now` differs, each as `kernel was 6.1, is 6.2`; empty: in nothing.
    pub fn differences(&self, now: &Self) -> Vec<String> {
        let (Ok(then), Ok(now)) = (serde_json::to_value(self), serde_json::to_value(now)) else {
            return vec!["it cannot be read".to_owned()];
        };
        let mut found = Vec::new();
        differing("", &then, &now, &mut found);
        found
    }
}

impl Baseline {
    /// A baseline of these conclusive trials.
    pub fn new(origin: Origin, program: Option<Program>, rounds: Vec<Trial>) -> Self {
        Self {
            kind: Kind::Baseline,
            schema_version: SCHEMA_VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            saved_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            origin,
            program,
            rounds,
        }
    }

    /// The one in `path`.
    ///
    /// # Errors
    /// There is none, or what is there is not a whole baseline of this version.
    pub fn load(path: &Path) -> Result<Self, BaselineError> {
        let at = || path.to_owned();
        let text = fs::read(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => BaselineError::Missing { path: at() },
            _ => BaselineError::Io { path: at(), source },
        })?;
        if text.iter().all(u8::is_ascii_whitespace) {
            return Err(BaselineError::Empty { path: at() });
        }
        let baseline: Self = serde_json::from_slice(&text)
            .map_err(|source| BaselineError::Foreign { path: at(), source })?;
        if baseline.schema_version != SCHEMA_VERSION {
            return Err(BaselineError::Schema { path: at(), found: baseline.schema_version });
        }
        let rounds = baseline.rounds.iter().filter(|trial| trial.inconclusive.is_none()).count();
        if rounds < MIN_ROUNDS {
            return Err(BaselineError::TooFewRounds { path: at(), rounds });
        }
        Ok(baseline)
    }

    /// Holds today's trials against it. `differs` is what was accepted as different.
    pub fn against(&self, file: &Path, differs: Vec<String>, today: Vec<Trial>) -> Against {
        let pairs = self.rounds.iter().cloned().zip(today);
        let rounds: Vec<Round> =
            (1..).zip(pairs).map(|(number, (a, b))| Round { number, a, b }).collect();
        let judgement = judge(
            &rounds,
            &Metric::of_a_trial(),
            Some(&Metric::idle_p50()),
            SEED,
            &Settings::default(),
        );
        Against {
            file: file.to_owned(),
            saved_at: self.saved_at.clone(),
            program: self.program.clone(),
            differs,
            outcome: gate::outcome(&judgement),
            judgement,
        }
    }
}

/// The same rounds make the same judgement.
const SEED: Seed = Seed(1);

/// Collects the leaves in which two documents differ, by their names.
fn differing(name: &str, then: &Value, now: &Value, found: &mut Vec<String>) {
    if let (Value::Object(old), Value::Object(new)) = (then, now) {
        let added = new.keys().filter(|key| !old.contains_key(*key));
        for key in old.keys().chain(added) {
            let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
            let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned();
            let (then, now) = (of(old).unwrap_or_default(), of(new).unwrap_or_default());
            differing(&name, &then, &now, found);
        }
    } else if then != now {
        found.push(format!("{name} was {then}, is {now}"));
    }
}

/// A baseline that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// No such file.
    #[error("there is no baseline {}: make one with --save-baseline", path.display())]
    Missing {
        /// What was named.
        path: PathBuf,
    },
    /// Nothing in it.
    #[error("the baseline {} is empty: make it again with --save-baseline", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Something else, or a part of a baseline.
    #[error("{} is no baseline, or torn: make one with --save-baseline ({source})", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// Another version.
    #[error(
        "the baseline {} has schema {found}; this turnstile reads {SCHEMA_VERSION}: make it again",
        path.display()
    )]
    Schema {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// Too few rounds to compare with.
    #[error(
        "the baseline {} has {rounds} conclusive rounds; {MIN_ROUNDS} are needed: make it again",
        path.display()
    )]
    TooFewRounds {
        /// The file.
        path: PathBuf,
        /// How many it has.
        rounds: usize,
    },
    /// A file that cannot be read.
    #[error("failed to read the baseline {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

#[cfg(test)]
mod tests;
