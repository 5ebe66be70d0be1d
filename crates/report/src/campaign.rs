//! A campaign, as its journal and its trials tell of it.
//!
//! Not for: comparing arms or judging pairs; medians of arms, effects and their intervals are in what it
//! is made from.
//!
//! Invariant: what is missing (a trial that was not run, a figure that is not known) is left out of
//! a figure and named as missing in its table; it is never a zero.

use std::path::PathBuf;

use analysis::guard::rounds::Ran;
use analysis::guard::{Comparison, PairOf, arm_row};
use records::{ArmRow, ArmSpec, Micros, Summary, Verdict, count};
use serde::Deserialize;

/// A campaign, as its journal and its trials tell of it.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// Where it is kept.
    pub dir: PathBuf,
    /// What it is for: `compare`, `check`, or `case` with its name.
    pub purpose: String,
    /// The command, as it was typed.
    pub command: Vec<String>,
    /// Rounds that were wanted.
    pub rounds: u32,
    /// Trials that were wanted; more than are done: it was cut short, or is still under way.
    pub planned: usize,
    /// The arms; the first is what the others are held against.
    pub arms: Vec<Arm>,
    /// Every other arm against the first, if they were compared.
    pub comparison: Option<Comparison>,
    /// The published situation, if it is of one.
    pub case: Option<Case>,
}

/// One arm over its trials.
#[derive(Clone, Debug)]
pub struct Arm {
    /// What was asked for.
    pub spec: ArmSpec,
    /// Its trials, in the order of rounds.
    pub trials: Vec<Ran>,
}

/// What is told of a published situation.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct CaseWords {
    /// What happens, in one line.
    pub title: String,
    /// Who told of it, and in which setting.
    pub source: String,
    /// The words that explain it: paragraphs.
    pub story: String,
    /// What to look at in the figures.
    pub look: String,
}

/// A published situation, with its figures as they were published and as they are here.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What is told of it.
    pub words: CaseWords,
    /// Its arms as they are here.
    pub arms: Vec<CaseArm>,
}

/// One arm of a published situation: its typical trial.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseArm {
    /// What it is called.
    pub name: String,
    /// How the trial was judged.
    pub verdict: Verdict,
    /// Its run directory, within the campaign's.
    pub dir: PathBuf,
    /// The figures, the same ones in the same order in every arm.
    pub figures: Vec<CaseFigure>,
}

/// A figure of a published situation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseFigure {
    /// What it is of.
    pub label: &'static str,
    /// As measured here; absent: unknown.
    pub here: Option<String>,
    /// As published; absent: it was not.
    pub published: Option<String>,
}

impl Arm {
    /// What it came to.
    pub(crate) fn row(&self) -> ArmRow {
        let summaries: Vec<&Summary> = self.trials.iter().map(|ran| &ran.summary).collect();
        arm_row(&self.spec.name, &summaries)
    }
}

impl Campaign {
    /// A row for each arm.
    pub(crate) fn rows(&self) -> Vec<ArmRow> {
        self.arms.iter().map(Arm::row).collect()
    }

    /// Trials that are done.
    pub fn done(&self) -> usize {
        self.arms.iter().map(|arm| arm.trials.len()).sum()
    }

    /// Every other arm against the first.
    pub(crate) fn pairs(&self) -> &[PairOf] {
        self.comparison.as_ref().map_or(&[], |comparison| &comparison.pairs)
    }

    /// All trials that are done.
    pub(crate) fn trials(&self) -> impl Iterator<Item = &Ran> {
        self.arms.iter().flat_map(|arm| &arm.trials)
    }

    /// When a fetch is given up; `None`: the trials differ in it, or there is none.
    pub(crate) fn cap(&self) -> Option<Micros> {
        let mut caps = self.trials().map(|trial| trial.summary.arm.fetch.cap);
        let first = caps.next()?;
        caps.all(|cap| cap == first).then_some(first)
    }

    /// What it is called.
    pub(crate) fn title(&self) -> String {
        let case = self.case.as_ref().map(|case| format!(": {}", case.words.title));
        let of = case.unwrap_or_else(|| format!(" of {} arms", self.arms.len()));
        format!("{}{of}, {}", self.purpose, count(self.rounds.into(), "round", "rounds"))
    }
}
