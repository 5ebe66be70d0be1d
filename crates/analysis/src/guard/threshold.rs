//! Thresholds: `p99<100ms`, `p99/idle_p99<5`, `failed_share<=0.01`.
//!
//! Invariant: a threshold on what a trial does not know is not met; it says so.

use std::cmp::Ordering::{self, Equal, Greater, Less};
use std::fmt;
use std::str::FromStr;

use records::{BytesPerSec, Micros, Summary};
use serde::Serialize;
use stats::Reading;

use super::Gate;
use super::figures::{FIGURES, Figure, Unit};

/// What must hold of a trial. Written `FIGURE[/FIGURE] OP VALUE`, blanks or none.
#[derive(Clone, Debug)]
pub struct Threshold {
    figure: &'static Figure,
    /// Another of the same unit, which the first is divided by.
    by: Option<&'static Figure>,
    /// How it may stand to its limit.
    op: &'static [Ordering],
    limit: f64,
    text: String,
}

/// Longest first, so that `<=` is not taken for `<`.
const OPS: [(&str, &[Ordering]); 4] =
    [("<=", &[Less, Equal]), (">=", &[Greater, Equal]), ("<", &[Less]), (">", &[Greater])];

/// What became of a threshold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Held {
    /// As it was typed.
    pub threshold: String,
    /// Whether it held.
    pub outcome: Gate,
    /// The figure, with its unit; a lower bound begins with `>=`.
    pub found: String,
    /// The same as a number, the smaller the better the threshold holds: to put trials in order by it.
    #[serde(skip)]
    pub(super) strain: f64,
}

impl Threshold {
    /// Holds a trial against it.
    pub fn hold(&self, summary: &Summary) -> Held {
        let known = self.of(summary);
        let (outcome, found) = match known {
            None => (Gate::Inconclusive, "not known of this run".to_owned()),
            Some(known) => {
                let bound = if known.is_bound() { ">= " } else { "" };
                (self.outcome(known), format!("{bound}{}", self.unit().say(known.value())))
            }
        };
        let value = known.map_or(0.0, Reading::value);
        let strain = if self.is_upper() { value } else { -value };
        Held { threshold: self.text.clone(), outcome, found, strain }
    }

    /// Whether its limit is an upper one.
    fn is_upper(&self) -> bool {
        self.op.contains(&Less)
    }

    /// Whether its figures are of fetches alone, so that all rounds together can be held against it.
    pub(super) fn is_pooled(&self) -> bool {
        self.figure.is_pooled() && self.by.is_none_or(Figure::is_pooled)
    }

    fn unit(&self) -> Unit {
        if self.by.is_some() { Unit::Count } else { self.figure.unit }
    }

    fn of(&self, summary: &Summary) -> Option<Reading> {
        let above = self.figure.of(summary)?;
        let Some(by) = self.by else { return Some(above) };
        // What is divided by at least so much is at most so much: no side of a limit.
        let below = by.of(summary).filter(|below| !below.is_bound() && below.value() > 0.0)?;
        let ratio = above.value() / below.value();
        Some(if above.is_bound() { Reading::AtLeast(ratio) } else { Reading::Exact(ratio) })
    }

    /// A lower bound can breach an upper limit, and meet a lower one; else it tells nothing.
    fn outcome(&self, known: Reading) -> Gate {
        let stands = known.value().partial_cmp(&self.limit);
        let holds = stands.is_some_and(|stands| self.op.contains(&stands));
        match holds {
            _ if known.is_bound() && holds == self.is_upper() => Gate::Inconclusive,
            true => Gate::Passed,
            false => Gate::Breached,
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl FromStr for Threshold {
    /// What is wrong with the text, and how to write it.
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = OPS.iter().filter_map(|(sign, op)| Some((text.find(sign)?, *sign, *op)));
        let (at, sign, op) = found.min_by_key(|(at, ..)| *at).ok_or_else(|| {
            format!("{text:?} is no threshold: write it as p99<100ms, with one of < <= > >=")
        })?;
        let (name, value) = (text[..at].trim(), text[at + sign.len()..].trim());
        let find = |name: &str| {
            let name = name.trim();
            Figure::find(name).ok_or_else(|| {
                let names: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
                format!("there is no figure {name:?}; these are: {}", names.join(", "))
            })
        };
        let (figure, by) = match name.split_once('/') {
            None => (find(name)?, None),
            Some((above, below)) => (find(above)?, Some(find(below)?)),
        };
        if by.is_some_and(|by| by.unit != figure.unit) {
            return Err(format!("{name:?} divides figures of different units"));
        }
        let unit = if by.is_some() { Unit::Count } else { figure.unit };
        let (limit, form) = limit(unit, value);
        let limit =
            limit.ok_or_else(|| format!("{value:?} is no limit of {name}: write {form}"))?;
        let text = format!("{name}{sign}{value}");
        Ok(Self { figure, by, op, limit, text })
    }
}

/// A limit in the unit of its figure, and how one is written; a number without a unit only where there
/// is none.
fn limit(unit: Unit, text: &str) -> (Option<f64>, &'static str) {
    let number = || text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    match unit {
        Unit::Micros => (text.parse::<Micros>().ok().map(|time| time.0 as f64), "a time, as 100ms"),
        // A rate says so: 300 alone would be 300 bytes.
        Unit::BytesPerSec => {
            let rate = text.ends_with("/s").then(|| text.parse::<BytesPerSec>().ok()).flatten();
            (rate.map(|rate| rate.0 as f64), "a rate, as 300MB/s")
        }
        Unit::Share => {
            let share = match text.strip_suffix('%') {
                Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
                None => number(),
            };
            let share = share.filter(|share| (0.0..=1.0).contains(share));
            (share, "a share from 0 to 1, as 0.01, or 1%")
        }
        Unit::Count => (number(), "a number"),
    }
}
