//! From the records of a run to what it shows: one [`Analysis`], made once, that text, page, gate and
//! cases read.
//!
//! - `window`: stretches of a run
//! - `join`: which connection of the proxy served which fetch or download
//! - `thresholds`: the numbers that decide, and whether an idle phase is one
//! - `figures`: the figures of `summary.json`, and the latency model
//! - `explain`: what held each fetch
//! - `judge`: the verdict, its reasons and its caveats, by the thresholds
//! - `analysis`: all of it, once
//! - [`report`]: what `turnstile explain` tells, as documents
//! - [`guard`]: arms compared over rounds, a trial held against thresholds or a baseline
//! - `histograms`: the latencies in HdrHistogram's formats
//!
//! Not for: reading a run ([`RunRecords::load`](records::RunRecords::load)), statistics (the crate
//! `stats`), or wording for a terminal or a page, which do no arithmetic: what they show is computed here.
//!
//! Invariants:
//! - Pure: from records alone, so that it can be made again at any time.
//! - Each module uses those above it in this list, and never one below.

mod analysis;
mod explain;
mod figures;
pub mod guard;
mod histograms;
mod join;
mod judge;
pub mod report;
mod thresholds;
mod window;

pub use analysis::{Analysis, summarise};
pub use explain::{FetchSplit, Hands, LATE_FACTOR, Shares};
pub use figures::{fetch_summary, response_differs};
pub use histograms::{interval_log, percentiles};
pub use join::{Connection, Join, Transfer};
pub use judge::measured_when;

/// What tests of this crate share: runs put together by hand, and at random; and what holds of them all.
#[cfg(test)]
mod tests {
    pub(crate) mod properties;
    pub(crate) mod random;
    pub(crate) mod scene;
}
