//! The guard: arms compared over rounds, a trial held against thresholds or a baseline.
//!
//! - [`figures`]: the figures of a trial by name
//! - [`threshold`]: `p99<100ms` and the like
//! - [`rounds`]: a threshold over all rounds of a check
//! - [`baseline`]: rounds that were saved, and those of today against them
//! - [`check`]: thresholds and baseline together, with the reasons
//! - [`gate`]: what a gate says, and its exit code
//! - [`compare`]: pairs of arms of a campaign
//! - `rows`: what each arm came to
//!
//! Not for: statistics (the crate `stats`), or the verdict of one trial (`judge`).
//!
//! Invariant: what is not known is never a pass.

pub mod baseline;
pub mod check;
pub mod compare;
pub mod figures;
pub mod gate;
pub mod rounds;
mod rows;
#[cfg(test)]
mod tests;
pub mod threshold;

pub use baseline::{Baseline, BaselineError};
pub use check::Check;
pub use compare::{Comparison, PairOf};
pub use gate::Gate;
pub use rows::arm_row;
pub use threshold::Threshold;
