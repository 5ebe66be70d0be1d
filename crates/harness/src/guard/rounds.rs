//! A threshold over all rounds of a check.
//!
//! The round in the middle decides, rounds put in order from the best to the worst; of an even number
//! the worse of the two in the middle. A round that proves nothing counts as one whose figure is not
//! known, which stands between those that met and those that breached: so a threshold is met only if
//! more than half of all rounds met it, and breached only if the others could not have saved it.
//!
//! A failed share must hold of all rounds together as well: two rounds of five in which everything
//! fails are no outliers.

use records::Summary;
use serde::Serialize;

use super::threshold::{Held, Outcome, Threshold};

/// A threshold and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverRounds {
    /// As it was typed.
    pub threshold: String,
    /// Whether it held.
    pub outcome: Outcome,
    /// The figure that decided, with its unit; a lower bound begins with `>=`.
    pub found: String,
    /// Rounds that met it.
    pub met: usize,
    /// Rounds that breached it.
    pub breached: usize,
    /// Rounds that do not know its figure, or prove nothing.
    pub unknown: usize,
    /// All rounds together; absent: one round, or a figure that cannot be pooled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pooled: Option<Held>,
}

impl OverRounds {
    /// Holds `wanted` rounds against `threshold`, of which `conclusive` prove something.
    pub fn of(threshold: &Threshold, conclusive: &[&Summary], wanted: usize) -> Self {
        let mut held: Vec<(Held, f64)> =
            conclusive.iter().map(|s| (threshold.hold(s), threshold.strain(s))).collect();
        let missing = Held {
            threshold: threshold.to_string(),
            outcome: Outcome::Unknown,
            found: "no conclusive run".to_owned(),
        };
        held.resize(held.len().max(wanted).max(1), (missing.clone(), 0.0));
        held.sort_by(|(left, strain), (right, other)| {
            left.outcome.cmp(&right.outcome).then(strain.total_cmp(other))
        });
        let count = |outcome| held.iter().filter(|(held, _)| held.outcome == outcome).count();
        let (met, breached, unknown) =
            (count(Outcome::Met), count(Outcome::Breached), count(Outcome::Unknown));
        let middle = held.get(held.len() / 2).map_or(missing, |(held, _)| held.clone());
        let pooled = (conclusive.len() > 1).then(|| threshold.hold_pooled(conclusive)).flatten();
        let decides = match &pooled {
            Some(pooled) if pooled.outcome > middle.outcome => pooled.clone(),
            _ => middle,
        };
        let Held { threshold, outcome, found } = decides;
        Self { threshold, outcome, found, met, breached, unknown, pooled }
    }
}

#[cfg(test)]
mod tests;
