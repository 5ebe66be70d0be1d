//! Intervals of a mean over rounds.

use serde::{Deserialize, Serialize};

use crate::bootstrap::expanded_percentile;
use crate::difference::{mean, standard_error};
use crate::tail::t_critical;
use crate::{Seed, Settings};

#[cfg(test)]
mod tests;

/// From where to where.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// The smallest interval that holds both.
    pub(crate) const fn hull(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Whether zero lies outside.
    pub(crate) const fn excludes_zero(self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }

    /// Whether all of it lies closer to zero than `floor`.
    pub(crate) const fn is_within(self, floor: f64) -> bool {
        self.low > -floor && self.high < floor
    }

    /// How far the further end is from `centre`.
    pub(crate) const fn reach(self, centre: f64) -> f64 {
        (self.high - centre).max(centre - self.low)
    }
}

/// The interval of the mean over rounds: the hull of Student's t and of the expanded bootstrap.
/// `None` of fewer than two values.
///
/// A bootstrap cannot reach beyond the values it has, which is too little of 3 to 8 of them;
/// Student's t does not see that values are skewed. Each covers for the other.
pub(crate) fn over_rounds(values: &[f64], settings: &Settings, seed: Seed) -> Option<Interval> {
    let alpha = settings.confidence.alpha();
    let bootstrap = expanded_percentile(values, alpha, settings.resamples(), seed)?;
    Some(student(values, alpha)?.hull(bootstrap))
}

/// Student's interval of the mean (1908). `None` of fewer than two values.
pub(crate) fn student(values: &[f64], alpha: f64) -> Option<Interval> {
    let reach = standard_error(values)? * t_critical(alpha, values.len() - 1);
    let centre = mean(values);
    Some(Interval { low: centre - reach, high: centre + reach })
}
