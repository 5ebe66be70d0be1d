//! Intervals of a mean over rounds.

use serde::Serialize;

#[cfg(test)]
mod tests;

/// From where to where.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
