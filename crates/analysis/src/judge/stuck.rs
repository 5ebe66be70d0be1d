//! Downloads that never received a byte: a load that was not there, or the effect at its strongest.
//!
//! A worker that one download holds from the first moment serves no other download either. Less load
//! than was asked for cannot make a run look starved that is not, so such a run keeps its verdict. It
//! can make one look healthy.

use super::facts::{Facts, Measured};
use super::wording::{count, list};
use crate::thresholds::Thresholds;

/// What downloads that never moved mean for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stuck {
    /// All moved, or there was nothing to measure yet.
    None,
    /// The load was not what was asked for.
    NoLoad(String),
    /// They waited as the fetches did, behind downloads that moved.
    HeldToo(String),
}

impl Stuck {
    pub(crate) fn of(facts: &Facts<'_>, thresholds: &Thresholds) -> Self {
        // Before the measure phase a download may well not have moved yet.
        if facts.measured == Measured::Never || facts.never_moved.is_empty() {
            return Self::None;
        }
        let (stuck, wanted) = (facts.never_moved.len(), facts.manifest.arm.load.slow);
        let slots = list(&facts.never_moved);
        let finding = format!("{stuck} of {wanted} downloads never received a byte (slot {slots})");
        if facts.undialled > 0 {
            let times = count(facts.undialled, "time", "times");
            return Self::NoLoad(format!(
                "{finding}: {times} this host had no descriptor, port or memory left to dial one; \
                 raise `ulimit -n`, or lower --slow"
            ));
        }
        let summary = facts.summary;
        let share = summary.measure.outcomes.failed_share().unwrap_or(0.0);
        let starved = share >= thresholds.starved_share;
        if starved && summary.slow.bytes.0 > 0 {
            Self::HeldToo(format!("{finding}: held like the fetches, while others moved"))
        } else {
            Self::NoLoad(finding)
        }
    }
}
