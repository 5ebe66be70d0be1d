//! What each round says of a metric: one number, B against A.

use serde::{Deserialize, Serialize};

use crate::{Metric, Reading};

/// The readings of one metric in one round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// Of the arm that is compared against.
    pub a: Reading,
    /// Of the arm that is compared.
    pub b: Reading,
}

impl Pair {
    /// B against A where `metric` reckons. Two percentiles beyond the cap do not differ, as far as
    /// anybody knows; one of them makes the difference a lower bound, which is taken for it.
    pub(crate) fn difference(&self, metric: &Metric) -> f64 {
        if self.is_hidden() {
            0.0
        } else {
            metric.reckoned(self.b.value()) - metric.reckoned(self.a.value())
        }
    }

    /// Whether both are beyond the cap.
    pub(crate) const fn is_hidden(&self) -> bool {
        self.a.is_bound() && self.b.is_bound()
    }
}

/// Which way the rounds went, counting those only that moved by more than the floor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Votes {
    /// Rounds in which B was higher.
    pub up: u32,
    /// Rounds in which B was lower.
    pub down: u32,
    /// Rounds that moved less than the floor.
    pub still: u32,
}

impl Votes {
    pub(crate) fn count(differences: &[f64], floor: f64) -> Self {
        differences.iter().fold(Self::default(), |mut votes, difference| {
            if *difference >= floor {
                votes.up += 1;
            } else if *difference <= -floor {
                votes.down += 1;
            } else {
                votes.still += 1;
            }
            votes
        })
    }

    /// Whether at least two rounds in three of those that moved went the way of `effect`.
    pub(crate) const fn agree_with(self, effect: f64) -> bool {
        let (with, against) =
            if effect > 0.0 { (self.up, self.down) } else { (self.down, self.up) };
        with > 0 && with >= 2 * against
    }
}

/// The mean; 0 of nothing. Its sign flips exactly with the signs of `values`.
pub(crate) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Standard error of the mean; `None` of fewer than two.
pub(crate) fn standard_error(values: &[f64]) -> Option<f64> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    Some((squares / (n - 1) as f64 / n as f64).sqrt())
}

/// The median; `None` of nothing.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.get(sorted.len() / 2)?;
    let lower = sorted.get((sorted.len() - 1) / 2)?;
    Some(f64::midpoint(*lower, *upper))
}
