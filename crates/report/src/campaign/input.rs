//! What the page of a campaign is made from.

use std::path::PathBuf;

use records::{ArmRow, Manifest, Summary, Verdict};
use serde::Serialize;
use stats::{Change, Curve, Interval, Scale};

/// A campaign, as its journal, its trials and its comparison tell of it.
#[derive(Clone, Debug)]
pub struct CampaignInput<'a> {
    /// What it is for: `compare`, `zoo`, or `case` with its name.
    pub purpose: &'a str,
    /// The command, as it was typed.
    pub command: &'a [String],
    /// Rounds that were wanted.
    pub rounds: u32,
    /// Trials that were wanted; more than are done: it was cut short, or is still under way.
    pub planned: usize,
    /// What the order of trials was drawn from.
    pub seed: u64,
    /// The arms; the first is what the others are held against.
    pub arms: Vec<ArmInput<'a>>,
    /// Every other arm against the first; empty where nothing was compared.
    pub pairs: Vec<PairInput>,
    /// The published situation, if it is of one.
    pub case: Option<CaseInput>,
    /// Of the first trial, if there is one.
    pub manifest: Option<&'a Manifest>,
}

/// One arm.
#[derive(Clone, Debug)]
pub struct ArmInput<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Its options, as words.
    pub args: &'a [String],
    /// What it came to.
    pub row: &'a ArmRow,
    /// Its trials, in the order of rounds.
    pub trials: Vec<TrialInput<'a>>,
    /// Its fetches under load, of all trials.
    pub survival: Curve,
}

/// One trial that is done.
#[derive(Clone, Debug)]
pub struct TrialInput<'a> {
    /// Its round, from 0.
    pub round: u32,
    /// Its own page, as a path relative to the campaign's directory.
    pub page: String,
    /// What it showed.
    pub summary: &'a Summary,
}

/// One arm against the first, in the words of `turnstile compare`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairInput {
    /// What is compared against.
    pub a: String,
    /// What is compared.
    pub b: String,
    /// What became of B against A.
    pub change: Change,
    /// Why, the weightiest first.
    pub reasons: Vec<String>,
    /// Rounds that say nothing, and why.
    pub left_out: Vec<String>,
    /// Every metric.
    pub metrics: Vec<MetricInput>,
}

/// One metric of a pair: figures to be drawn, and the same in words.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricInput {
    /// Its name, as `failed_share`.
    pub name: String,
    /// Value of A, with its unit; `-`: unknown.
    pub a: String,
    /// Value of B.
    pub b: String,
    /// The change, as `x0.06` or `-0.660`.
    pub change: String,
    /// Its interval.
    pub interval: String,
    /// Rounds that went up, down, or stood still.
    pub votes: String,
    /// The p-value.
    pub p: String,
    /// What may be concluded.
    pub said: String,
    /// How A and B are set against each other.
    pub scale: Scale,
    /// The change: B minus A, or B over A; absent: no round knows the metric in both arms.
    pub effect: Option<f64>,
    /// Where the change may be, at 95 %.
    pub reach: Option<Interval>,
    /// Whether it counts, and for what.
    pub counts: Counts,
}

/// Whether a change counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Counts {
    /// For the better.
    Better,
    /// For the worse.
    Worse,
    /// Nothing may be concluded from it.
    Not,
}

/// A published situation, with its figures as they were published and as they are here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseInput {
    /// What happens, in one line.
    pub title: String,
    /// Who told of it.
    pub source: String,
    /// The words that explain it: paragraphs.
    pub story: Vec<String>,
    /// What to look at.
    pub look: String,
    /// Its arms as they are here.
    pub arms: Vec<CaseArmInput>,
}

/// One arm of a published situation: its typical trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseArmInput {
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CaseFigure {
    /// What it is of.
    pub label: String,
    /// As measured here; absent: unknown.
    pub here: Option<String>,
    /// As published; absent: it was not.
    pub published: Option<String>,
}
