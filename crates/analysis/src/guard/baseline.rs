//! A baseline: rounds that were saved, and those of today against them.
//!
//! Saved rounds and new ones were not run in turn, so they are two samples and no pairs: in whatever
//! order they stand, the answer is the same. What moved *all* rounds of a day does not cancel; only the
//! control (fetches without load) can tell. `docs/ci.md` says what follows.
//!
//! Invariants: a baseline is compared with what was made on the same kernel, CPUs, settings and arm,
//! and seen in the same way, unless somebody said otherwise; a file that is no whole baseline is refused
//! before any trial runs; what the baseline knows and today does not is never a pass.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use records::{Arm, Micros, Program, Recording, SCHEMA_VERSION, Visibility};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stats::{Change, Finding, Judgement, Metric, Reason, Trial, Trials, judge};

use super::{Gate, doubts, gate_of};

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
    /// How the proxy's workers were seen, as it came about.
    pub sights: BTreeSet<Visibility>,
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
    /// What else the figures hang on.
    pub conditions: Conditions,
}

/// What figures hang on beside the machine and the arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// How much was recorded.
    pub recording: Recording,
    /// The CPUs that could be used: `taskset`, a container's share.
    pub allowed_cpus: Vec<usize>,
    /// The settings of the kernel that a manifest records, as `net.ipv4.tcp_rmem`.
    pub sysctls: BTreeMap<String, String>,
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
    /// Why today cannot be held against it, or what of it cannot.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// Metrics that it knows and that today does not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    /// Met: nothing regressed.
    pub outcome: Gate,
    /// All that led there; A is the baseline, B is today.
    pub judgement: Judgement,
}

/// Today's trials, as far as they prove something.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Today {
    /// The conclusive ones, in the order of their end.
    pub rounds: Vec<Trial>,
    /// How many were wanted.
    pub wanted: usize,
    /// How the proxy's workers were seen in them.
    pub sights: BTreeSet<Visibility>,
}

/// Fewest rounds that a baseline has: with fewer nothing could ever be compared.
pub const MIN_ROUNDS: usize = 3;

impl Origin {
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
    /// A baseline of these trials.
    pub fn new(origin: Origin, program: Option<Program>, made: Today) -> Self {
        Self {
            kind: Kind::Baseline,
            schema_version: SCHEMA_VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            saved_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            origin,
            program,
            sights: made.sights,
            rounds: made.rounds,
        }
    }

    /// The one that a file says.
    ///
    /// # Errors
    /// It is not a whole baseline of this version.
    pub fn read(file: &[u8]) -> Result<Self, BaselineError> {
        if file.iter().all(u8::is_ascii_whitespace) {
            return Err(BaselineError::Empty);
        }
        let baseline: Self = serde_json::from_slice(file)?;
        if baseline.schema_version != SCHEMA_VERSION {
            return Err(BaselineError::Schema(baseline.schema_version));
        }
        let rounds = baseline.rounds.iter().filter(|trial| trial.inconclusive.is_none()).count();
        if rounds < MIN_ROUNDS {
            return Err(BaselineError::TooFewRounds(rounds));
        }
        Ok(baseline)
    }

    /// Holds today's trials against it. `accepted`: today may differ from then, and does in this as far as
    /// that was known beforehand (`--cross-host`); absent: it may not.
    pub fn against(&self, file: &Path, accepted: Option<Vec<String>>, today: Today) -> Against {
        let conclusive = today.rounds.len();
        let seen_otherwise = self.seen_otherwise(&today);
        let mut judgement =
            judge(Trials::Apart { a: &self.rounds, b: &today.rounds }, &Metric::OF_A_TRIAL);
        // Only those that prove something stand there: how many do not is known here alone.
        if 2 * conclusive <= today.wanted {
            let [usable, run] =
                [conclusive, today.wanted].map(|of| u32::try_from(of).unwrap_or(u32::MAX));
            judgement.change = Change::Inconclusive;
            judgement.reasons = vec![Reason::TooFewRounds { usable, run, needed: run / 2 + 1 }];
        }
        let missed = judgement.unknown().filter(|c| c.finding == Finding::TooFewRounds);
        let lost = missed.map(|c| c.metric.name.to_owned()).collect();
        let mut doubts = doubts(&judgement, "in the baseline", "today");
        let (differs, refused) = match accepted {
            None => (Vec::new(), seen_otherwise),
            Some(differs) => (differs.into_iter().chain(seen_otherwise).collect(), None),
        };
        // A change may be the watcher's then.
        let outcome = match refused {
            Some(_) => Gate::Inconclusive,
            None => gate_of(&judgement),
        };
        doubts.extend(refused);
        Against {
            file: file.to_owned(),
            saved_at: self.saved_at.clone(),
            program: self.program.clone(),
            differs,
            doubts,
            lost,
            outcome,
            judgement,
        }
    }

    /// In what way, if the workers were not seen as they were: a tracer takes time of its own, and
    /// tells what samples do not.
    fn seen_otherwise(&self, today: &Today) -> Option<String> {
        let words = |sights: &BTreeSet<Visibility>| {
            sights.iter().map(|visibility| visibility.words()).collect::<Vec<_>>().join(", or ")
        };
        (!today.sights.is_empty() && self.sights != today.sights).then(|| {
            format!(
                "the proxy's workers were seen in another way: then {}, now {}",
                words(&self.sights),
                words(&today.sights)
            )
        })
    }
}

impl Against {
    /// The word for it: what became of today, or that nobody knows.
    pub fn change(&self) -> Change {
        match self.outcome {
            Gate::Inconclusive => Change::Inconclusive,
            Gate::Passed | Gate::Breached => self.judgement.change,
        }
    }

    /// Why, the weightiest first.
    pub fn reasons(&self) -> Vec<String> {
        let judged = self.judgement.reasons.iter().map(ToString::to_string);
        if self.outcome == Gate::Inconclusive && !self.doubts.is_empty() {
            self.doubts.clone()
        } else {
            judged.chain(self.doubts.iter().cloned()).collect()
        }
    }
}

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

/// What is wrong with a file that is no baseline to be compared with; said of "the file ...".
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// Nothing in it.
    #[error("is empty: make it again with --save-baseline")]
    Empty,
    /// Something else, or a part of a baseline.
    #[error("is no baseline, or torn: make one with --save-baseline ({0})")]
    Foreign(#[from] serde_json::Error),
    /// Of this other version.
    #[error("has schema {0}; this turnstile reads {SCHEMA_VERSION}: make it again")]
    Schema(u32),
    /// Only so many rounds to compare with.
    #[error("has {0} conclusive rounds; {MIN_ROUNDS} are needed: make it again")]
    TooFewRounds(usize),
}

#[cfg(test)]
mod tests;
