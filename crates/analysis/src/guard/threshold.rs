//! Thresholds: `p99<100ms`, `p99/idle_p99<5`, `failed_share<=0.01`.
//!
//! Invariant: a threshold on what a trial does not know is not met; it says so.

use std::fmt;
use std::str::FromStr;

use records::{BytesPerSec, Micros, Summary};
use serde::Serialize;

use super::figures::{FIGURES, Figure, Known, Unit};

/// What must hold of a trial. Written `FIGURE[/FIGURE] OP VALUE`, blanks or none.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    figure: Of,
    op: Op,
    limit: f64,
    text: String,
}

/// A figure, or one divided by another of the same unit.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Of {
    One(usize),
    Ratio(usize, usize),
}

/// How a figure must stand to its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// Longest first, so that `<=` is not taken for `<`.
const OPS: [(&str, Op); 4] =
    [("<=", Op::AtMost), (">=", Op::AtLeast), ("<", Op::Below), (">", Op::Above)];

/// What became of a threshold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Held {
    /// As it was typed.
    pub threshold: String,
    /// Whether it held.
    pub outcome: Outcome,
    /// The figure, with its unit; a lower bound begins with `>=`.
    pub found: String,
}

/// Whether a threshold held; from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It did.
    Met,
    /// The trial does not know the figure.
    Unknown,
    /// It did not.
    Breached,
}

impl Threshold {
    /// Holds a trial against it.
    pub fn hold(&self, summary: &Summary) -> Held {
        self.holding(self.figure.of(summary))
    }

    /// The figure, the smaller the better the threshold holds: to put trials in order by it.
    pub(super) fn strain(&self, summary: &Summary) -> f64 {
        let value = self.figure.of(summary).map_or(0.0, Known::value);
        match self.op {
            Op::Below | Op::AtMost => value,
            Op::Above | Op::AtLeast => -value,
        }
    }

    /// Whether its figures are of fetches alone, so that all rounds together can be held against it.
    pub(super) fn is_pooled(&self) -> bool {
        let is = |at: usize| FIGURES.get(at).is_some_and(Figure::is_pooled);
        match self.figure {
            Of::One(at) => is(at),
            Of::Ratio(above, below) => is(above) && is(below),
        }
    }

    fn holding(&self, known: Option<Known>) -> Held {
        let (outcome, found) = match known {
            None => (Outcome::Unknown, "not known of this run".to_owned()),
            Some(known) => {
                let bound = if matches!(known, Known::AtLeast(_)) { ">= " } else { "" };
                let found = format!("{bound}{}", self.figure.in_unit(known.value()));
                (self.outcome(known), found)
            }
        };
        Held { threshold: self.text.clone(), outcome, found }
    }

    /// A lower bound can breach an upper limit, and meet a lower one; else it tells nothing.
    fn outcome(&self, known: Known) -> Outcome {
        let value = known.value();
        let holds = match self.op {
            Op::Below => value < self.limit,
            Op::AtMost => value <= self.limit,
            Op::Above => value > self.limit,
            Op::AtLeast => value >= self.limit,
        };
        match (known, self.op, holds) {
            (Known::Exactly(_), _, true) | (Known::AtLeast(_), Op::Above | Op::AtLeast, true) => {
                Outcome::Met
            }
            (Known::Exactly(_), _, false) | (Known::AtLeast(_), Op::Below | Op::AtMost, false) => {
                Outcome::Breached
            }
            (Known::AtLeast(_), ..) => Outcome::Unknown,
        }
    }
}

impl Of {
    fn of(self, summary: &Summary) -> Option<Known> {
        let value = |at: usize| FIGURES.get(at)?.of(summary);
        match self {
            Self::One(at) => value(at),
            Self::Ratio(above, below) => match (value(above)?, value(below)?) {
                (_, below) if below.value() <= 0.0 => None,
                (Known::Exactly(a), Known::Exactly(b)) => Some(Known::Exactly(a / b)),
                (Known::AtLeast(a), Known::Exactly(b)) => Some(Known::AtLeast(a / b)),
                // What is divided by at least so much is at most so much: no side of a limit.
                (_, Known::AtLeast(_)) => None,
            },
        }
    }

    fn unit(self) -> Unit {
        match self {
            Self::One(at) => FIGURES.get(at).map_or(Unit::Count, |figure| figure.unit),
            Self::Ratio(..) => Unit::Count,
        }
    }

    fn in_unit(self, value: f64) -> String {
        self.unit().say(value)
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl FromStr for Threshold {
    type Err = ThresholdError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = OPS.iter().filter_map(|(sign, op)| Some((text.find(sign)?, *sign, *op)));
        let (at, sign, op) = found
            .min_by_key(|(at, ..)| *at)
            .ok_or_else(|| ThresholdError::Form(text.to_owned()))?;
        let (name, value) = (text[..at].trim(), text[at + sign.len()..].trim());
        let find = |name: &str| {
            let name = name.trim();
            FIGURES
                .iter()
                .position(|figure| figure.name == name)
                .ok_or_else(|| ThresholdError::Figure(name.to_owned()))
        };
        let figure = match name.split_once('/') {
            None => Of::One(find(name)?),
            Some((above, below)) => {
                let (above, below) = (find(above)?, find(below)?);
                let unit = |at: usize| FIGURES.get(at).map(|figure| figure.unit);
                if unit(above) != unit(below) {
                    return Err(ThresholdError::Units(name.to_owned()));
                }
                Of::Ratio(above, below)
            }
        };
        let wrong = || ThresholdError::Value {
            value: value.to_owned(),
            figure: name.to_owned(),
            form: form(figure.unit()),
        };
        let limit = limit(figure.unit(), value).ok_or_else(wrong)?;
        let text = format!("{name}{sign}{value}");
        Ok(Self { figure, op, limit, text })
    }
}

/// A limit in the unit of its figure; a number without a unit only where there is none.
fn limit(unit: Unit, text: &str) -> Option<f64> {
    let number = || text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    match unit {
        Unit::Micros => text.parse::<Micros>().ok().map(|time| time.0 as f64),
        // A rate says so: 300 alone would be 300 bytes.
        Unit::BytesPerSec => {
            let rate = text.ends_with("/s").then(|| text.parse::<BytesPerSec>().ok()).flatten();
            rate.map(|rate| rate.0 as f64)
        }
        Unit::Share => match text.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
            None => number(),
        }
        .filter(|share| (0.0..=1.0).contains(share)),
        Unit::Count => number(),
    }
}

const fn form(unit: Unit) -> &'static str {
    match unit {
        Unit::Micros => "a time, as 100ms",
        Unit::Share => "a share from 0 to 1, as 0.01, or 1%",
        Unit::BytesPerSec => "a rate, as 300MB/s",
        Unit::Count => "a number",
    }
}

/// A text that is no threshold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ThresholdError {
    /// No comparison in it.
    #[error("{0:?} is no threshold: write it as p99<100ms, with one of < <= > >=")]
    Form(String),
    /// A figure that no trial has.
    #[error("there is no figure {0:?}; these are: {all}", all = names())]
    Figure(String),
    /// Two figures that cannot be divided.
    #[error("{0:?} divides figures of different units")]
    Units(String),
    /// A limit in another unit.
    #[error("{value:?} is no limit of {figure}: write {form}")]
    Value {
        /// As typed.
        value: String,
        /// Of which figure.
        figure: String,
        /// What it should be.
        form: &'static str,
    },
}

fn names() -> String {
    FIGURES.iter().map(|figure: &Figure| figure.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
