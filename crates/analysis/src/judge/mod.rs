//! What a run proves: the verdict with its reasons, and the caveats.
//!
//! Not for: making figures. The judge reads a summary and the few [`Facts`] beside it, and applies
//! [`Thresholds`] to them.
//!
//! Invariant: a run whose preconditions failed is `inconclusive`, however its figures look.

mod caveats;
mod facts;
mod load;
mod preconditions;
mod rules;
mod wording;

use records::Verdict;

use crate::thresholds::Thresholds;
use rules::Rules;

pub(crate) use caveats::caveats;
pub(crate) use facts::Facts;
pub use wording::measured_when;

/// A verdict and why.
pub(crate) struct Judgement {
    /// What the run proves.
    pub(crate) verdict: Verdict,
    /// Sentences with figures and the threshold applied, the weightiest first; never empty.
    pub(crate) reasons: Vec<String>,
}

/// Judges a run: preconditions first, then `starved`, `degraded`, `healthy`.
pub(crate) fn judge(facts: &Facts<'_>, thresholds: &Thresholds) -> Judgement {
    let against = preconditions::failed(facts, thresholds);
    if !against.is_empty() {
        return Judgement { verdict: Verdict::Inconclusive, reasons: against };
    }
    let rules = Rules::of(facts, thresholds);
    Judgement { verdict: rules.verdict(), reasons: rules.reasons() }
}

#[cfg(test)]
mod tests;
