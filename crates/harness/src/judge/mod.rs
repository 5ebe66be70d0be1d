//! What a run proves: the verdict with its reasons, and the caveats.
//!
//! Not for: making figures. The judge reads a summary and the few facts beside it, and applies
//! [`Thresholds`] to them.
//!
//! Invariant: a run whose preconditions failed is `inconclusive`, however its figures look.

mod baseline;
mod caveats;
mod evidence;
mod load;
mod preconditions;
mod stuck;
mod thresholds;
mod verdict;
mod wording;

pub use baseline::{Baseline, Standing};
pub use caveats::caveats;
pub use evidence::{Evidence, Measured, Untraced};
pub use thresholds::Thresholds;
pub use verdict::{Judgement, judge};
pub(crate) use wording::{count, measured_when};

#[cfg(test)]
mod tests;
