//! A campaign as a page holds it: arms over rounds, pairs of arms, links to the trials.
//!
//! - [`input`]: what it is made from
//! - [`gather`]: from there to here
//! - [`words`]: its sentence and the figures that carry it
//! - [`html`]: the page
//!
//! Not for: comparing arms or judging pairs. Medians of arms, effects and their intervals come from
//! whoever ran the campaign; only intervals of shares are taken from the statistics here.
//!
//! Invariant: what is missing (a trial that was not run, a figure that is not known) is left out of
//! a figure and named as missing in its table; it is never a zero.

mod gather;
mod html;
mod input;
mod tables;
pub(crate) mod words;

use records::{ArmRow, Verdict};
use serde::Serialize;
use stats::Change;

pub use self::html::campaign_html;
pub use self::input::{
    ArmInput, CampaignInput, CaseArmInput, CaseFigure, CaseInput, Counts, MetricInput, PairInput,
    TrialInput,
};
use crate::curve::SurvivalPoint;
use crate::data::FigureLine;
use crate::palette::Ink;

/// A campaign, ready to be drawn.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CampaignData {
    /// Version of this layout: 1.
    pub page_version: u32,
    /// What the campaign is called.
    pub title: String,
    /// What came of it, in one sentence.
    pub sentence: String,
    /// The same in a word or two, each with how good that is.
    pub chips: Vec<(String, Standing)>,
    /// Why it is not whole, if it is not.
    pub cut_short: Option<String>,
    /// The figures that carry the sentence.
    pub figures: Vec<FigureLine>,
    /// The command, as a shell takes it.
    pub command: String,
    /// Rounds that were wanted.
    pub rounds: u32,
    /// Trials that were wanted.
    pub planned: usize,
    /// Trials that are done.
    pub done: usize,
    /// What the order of trials and the resampling started from.
    pub seed: u64,
    /// When a fetch is given up, us; absent: the trials differ in it, or there is none.
    pub cap_us: Option<u64>,
    /// The arms; the first is what the others are held against.
    pub arms: Vec<ArmData>,
    /// Every other arm against the first; empty where nothing was compared.
    pub pairs: Vec<PairInput>,
    /// A published situation with its figures; absent: the campaign is of none.
    pub case: Option<CaseInput>,
    /// Caveats of the trials, and of how many each is, the most frequent first.
    pub caveats: Vec<(String, usize)>,
    /// Machine and versions, as of the first trial: name and value.
    pub environment: Vec<(String, String)>,
}

/// How good a word is: its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Of a verdict.
    Verdict(Verdict),
    /// Of what became of an arm.
    Change(Change),
    /// Neither good nor bad.
    Plain,
}

impl Standing {
    /// The style's class of it.
    pub(crate) const fn class(self) -> &'static str {
        match self {
            Self::Verdict(Verdict::Starved) | Self::Change(Change::Regressed) => "verdict-starved",
            Self::Verdict(Verdict::Degraded) => "verdict-degraded",
            Self::Verdict(Verdict::Healthy) | Self::Change(Change::Improved) => "verdict-healthy",
            Self::Verdict(Verdict::Inconclusive)
            | Self::Change(Change::NoChange | Change::Inconclusive)
            | Self::Plain => "verdict-inconclusive",
        }
    }
}

/// One arm over its trials.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArmData {
    /// What it is called.
    pub name: String,
    /// Its options, as a shell takes them.
    pub options: String,
    /// What it is drawn with.
    pub ink: Ink,
    /// How its trials were judged, the most frequent first.
    pub verdicts: Vec<(Verdict, usize)>,
    /// What it came to.
    pub row: ArmRow,
    /// Fetches that failed, of all trials together; absent: there was none.
    pub failed: Option<ShareData>,
    /// Its trials, by round.
    pub trials: Vec<TrialData>,
    /// All its fetches under load, not yet done by age.
    pub survival: Vec<SurvivalPoint>,
}

/// A share with its 95 % interval, each 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ShareData {
    /// The share seen.
    pub share: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// One trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrialData {
    /// Its round, from 1.
    pub round: u32,
    /// Its own page, as an address relative to this one.
    pub page: String,
    /// How it was judged.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
    /// Fetches under load that could be tried.
    pub tried: u64,
    /// Of these, failed.
    pub failed: u64,
    /// Their share with Wilson's interval; absent: there was no fetch.
    pub failed_share: Option<ShareData>,
    /// Idle p50; then p50, p90, p99 and the slowest under load; absent: there was no fetch.
    pub latency: [Option<LatencyData>; 5],
    /// Rate of all downloads together; absent: there was none.
    pub slow_bytes_per_sec: Option<u64>,
}

/// What [`TrialData::latency`] is of.
pub(crate) const PERCENTILES: [&str; 5] = ["idle p50", "p50", "p90", "p99", "slowest"];

/// A percentile of one trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LatencyData {
    /// The latency.
    pub us: u64,
    /// Whether fetches were given up there: it would have been longer.
    pub given_up: bool,
}
