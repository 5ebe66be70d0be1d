//! The word of a gate, and what a process ends with that was asked for one.

use serde::Serialize;
use stats::{Blind, Change, Comparison, Finding, Judgement, Reason};

use super::threshold::Outcome;

/// What a process ends with that could not do what it was asked for.
pub const ERROR: u8 = 1;

/// What a gate says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// Everything held.
    Passed,
    /// Something did not.
    Breached,
    /// Nothing is known to be wrong, and something is not known.
    Inconclusive,
}

impl Gate {
    /// What the weightiest of all outcomes makes of it.
    pub const fn of(worst: Outcome) -> Self {
        match worst {
            Outcome::Breached => Self::Breached,
            Outcome::Unknown => Self::Inconclusive,
            Outcome::Met => Self::Passed,
        }
    }

    /// The word used in reports and records.
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
pub(super) fn outcome(judgement: &Judgement) -> Outcome {
    if judgement.change == Change::Inconclusive {
        Outcome::Unknown
    } else if judgement.that_say(Change::Regressed).next().is_some() {
        Outcome::Breached
    } else if judgement.unknown().next().is_some() {
        Outcome::Unknown
    } else {
        Outcome::Met
    }
}

/// What of this judgement is no pass, beside what regressed, by metric; `then` and `now` say of what is
/// compared where it is known: "in the baseline", "today".
pub(super) fn doubts(judgement: &Judgement, then: &str, now: &str) -> Vec<String> {
    if let [first @ (Reason::TooFewRounds { .. } | Reason::ControlMoved { .. })] =
        judgement.reasons.as_slice()
    {
        return vec![first.to_string()];
    }
    let said = |c: &Comparison| match c.finding {
        Finding::TooWide => Blind::of(c).to_string(),
        Finding::TooFewRounds => format!("{} is known {then}, and not {now}", c.metric.name),
        finding => format!("{} {}", c.metric.name, finding.text()),
    };
    judgement.unknown().map(said).collect()
}
