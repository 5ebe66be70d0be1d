//! Statistics for censored data, with the run as the unit.
//!
//! Two arms are compared over rounds: [`judge`] takes the rounds and the metrics that were asked
//! for, and says [`Change::NoChange`], `Improved`, `Regressed` or `Inconclusive`, with every
//! figure that led there. Beside it: intervals of shares ([`wilson`], [`share_over_rounds`]),
//! survival curves of times to completion ([`Curve`]), the log-rank test ([`log_rank`]), and
//! columns for ministat ([`ministat_column`]). `docs/statistics.md` derives each choice, names its
//! source, and tells what was simulated.
//!
//! Not for: input and output, reading records, deciding whether a single trial proves anything.
//!
//! Invariants:
//! - **The run is the unit.** Fetches of one run share its host, its placement and its luck; no
//!   verdict comes from counting them as if they did not.
//! - **The same input and seed give the same result**, bit by bit; swapped arms give the mirrored
//!   one.
//! - **No figure is NaN or infinite**, and no input panics: what cannot be told is `None` or
//!   `Inconclusive`, with the reason.

mod bootstrap;
mod compare;
mod difference;
mod family;
mod interval;
mod judge;
mod log_rank;
mod metric;
mod ministat;
mod reading;
mod round;
mod settings;
mod share;
mod sign_flip;
mod survival;
mod tail;

pub use compare::{Change, Comparison, Finding, compare};
pub use difference::{Pair, Votes};
pub use family::holm;
pub use interval::Interval;
pub use judge::{Judgement, LeftOut, Reason, judge};
pub use log_rank::{LogRank, Stratum, log_rank};
pub use metric::{Direction, Metric, MetricError, Scale, Weight};
pub use ministat::{Arm, ministat_column};
pub use reading::{NotAReading, Reading};
pub use round::{Round, Trial};
pub use settings::{Confidence, Seed, Settings, SettingsError};
pub use share::{Count, CountError, ShareInterval, share_over_rounds, wilson};
pub use sign_flip::sign_flip;
pub use survival::{Curve, Ending, Observation, Quantile, Step};
