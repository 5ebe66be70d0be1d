//! How sure a comparison must be.

use serde::Serialize;

/// The numbers of the rule, in one place; `docs/statistics.md` derives the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// Of each interval by itself. Default 95 %.
    pub confidence: Confidence,
    /// Of a whole judgement: two equal arms are called changed, by whichever metric, in no more
    /// than the rest. Default 98 %, so that of twenty such judgements one is wrong at most, nearly
    /// always.
    pub family_confidence: Confidence,
    /// Fewest usable rounds. Default 3; fewer than 2 count as 2.
    pub min_rounds: u32,
    /// Fewest usable rounds among those that were run, per cent. Default 50.
    pub min_usable_percent: u8,
    /// A trial whose control is further than this factor from its arm's median was disturbed.
    /// Default 2; per cent, so 200. At most 100 leaves out nothing.
    pub steady_percent: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            confidence: Confidence::USUAL,
            family_confidence: Confidence(0.98),
            min_rounds: 3,
            min_usable_percent: 50,
            steady_percent: 200,
        }
    }
}

impl Settings {
    fn min_rounds(&self) -> usize {
        self.min_rounds.max(2) as usize
    }

    /// How many of `run` rounds must be usable.
    pub(crate) fn needed_rounds(&self, run: usize) -> usize {
        self.min_rounds().max((run * usize::from(self.min_usable_percent)).div_ceil(100))
    }
}

/// A probability of being right, from 50 % to below 100 %.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
pub struct Confidence(f64);

impl Confidence {
    /// 95 %.
    pub const USUAL: Self = Self(0.95);

    /// The probability of a false alarm: 0.05.
    pub fn alpha(self) -> f64 {
        1.0 - self.0
    }
}
