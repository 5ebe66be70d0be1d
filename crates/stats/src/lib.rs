//! Statistics for censored data, with the run as the unit.
//!
//! Two arms are compared over rounds: [`judge`] takes the trials and the metrics that were asked
//! for, and says [`Change::NoChange`], `Improved`, `Regressed` or `Inconclusive`, with every
//! figure that led there. `docs/internals/statistics.md` derives each choice, names its source, and
//! tells what was simulated.
//!
//! Not for: input and output, reading records, deciding whether a single trial proves anything.
//!
//! Invariants:
//! - **The run is the unit.** Fetches of one run share its host, its placement and its luck; no
//!   verdict comes from counting them as if they did not.
//! - **The same trials give the same result**, bit by bit, in whatever order their rounds stand;
//!   swapped arms give the mirrored one.
//! - **No figure is NaN or infinite**, and no input panics: what cannot be told is `None` or
//!   `Inconclusive`, with the reason.

mod compare;
mod judge;
mod rule;
mod sample;
mod trials;

pub use compare::{Change, Expected, Finding, MetricComparison};
pub use judge::{Blind, Judgement, LeftOut, Reason, judge};
pub use rule::{Direction, Metric, Scale, Settings, Weight};
pub use sample::{Interval, Votes, median_whole};
pub use trials::{PairArm, Reading, Round, Trial, Trials};

#[cfg(test)]
mod tests;
