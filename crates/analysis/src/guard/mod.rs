//! The guard: arms compared over rounds, a trial held against thresholds or a baseline; the word that comes
//! of it ([`Gate`]), and what a process ends with that was asked for one.
//!
//! - [`figures`]: the figures of a trial by name
//! - [`threshold`]: `p99<100ms` and the like
//! - [`rounds`]: a threshold over all rounds of a check
//! - [`baseline`]: rounds that were saved, and those of today against them
//! - [`check`]: thresholds and baseline together, with the reasons
//! - [`compare`]: the arms of a campaign, side by side and in pairs
//!
//! Not for: statistics (the crate `stats`), or the verdict of one trial (`judge`).
//!
//! Invariant: what is not known is never a pass.

pub mod baseline;
pub mod check;
pub mod compare;
pub mod figures;
pub mod rounds;
#[cfg(test)]
mod tests;
pub mod threshold;

use serde::Serialize;
use stats::{Blind, Change, Finding, Judgement, MetricComparison, Reason};

pub use baseline::{Baseline, BaselineError};
pub use check::Check;
pub use compare::{Comparison, PairOf, arm_row};
pub use threshold::Threshold;

/// What a process ends with that could not do what it was asked for.
pub const ERROR: u8 = 1;

/// What became of a threshold, of a comparison, or of a whole check; from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Gate {
    /// It held; of a whole: everything did.
    #[serde(rename = "met")]
    Passed,
    /// It is not known; of a whole: nothing is known to be wrong, and something is not known.
    #[serde(rename = "unknown")]
    Inconclusive,
    /// It did not hold.
    #[serde(rename = "breached")]
    Breached,
}

impl Gate {
    /// The word used for a whole check.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Breached => "breached",
            Self::Inconclusive => "inconclusive",
        }
    }

    /// What the process ends with.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Breached => 10,
            Self::Inconclusive => 11,
        }
    }
}

/// A metric that regressed breaches, also where another improved; but not in rounds that prove
/// nothing. A metric of which nobody knows what became of it is no pass, whatever the others say.
fn gate_of(judgement: &Judgement) -> Gate {
    if judgement.change == Change::Inconclusive {
        Gate::Inconclusive
    } else if judgement.that_say(Change::Regressed).next().is_some() {
        Gate::Breached
    } else if judgement.unknown().next().is_some() {
        Gate::Inconclusive
    } else {
        Gate::Passed
    }
}

/// What of this judgement is no pass, beside what regressed, by metric; `then` and `now` say of what is
/// compared where it is known: "in the baseline", "today".
fn doubts(judgement: &Judgement, then: &str, now: &str) -> Vec<String> {
    if let [first @ (Reason::TooFewRounds { .. } | Reason::ControlMoved { .. })] =
        judgement.reasons.as_slice()
    {
        return vec![first.to_string()];
    }
    let said = |c: &MetricComparison| match c.finding {
        Finding::TooWide => Blind::of(c).to_string(),
        Finding::TooFewRounds => format!("{} is known {then}, and not {now}", c.metric.name),
        finding => format!("{} {}", c.metric.name, finding.text()),
    };
    judgement.unknown().map(said).collect()
}
