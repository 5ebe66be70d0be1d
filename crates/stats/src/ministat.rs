//! Columns for ministat(1): one number a line, one file an arm.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::{Metric, Round};

#[cfg(test)]
mod tests;

/// One of the two arms of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// The one compared against.
    A,
    /// The one compared.
    B,
}

/// The metric's value of one arm in every round that has it in both arms, one a line, after a
/// comment line; a percentile beyond the cap stands at the cap. Rounds are not sorted, so the
/// lines of both arms are pairs. ministat wants three or more of them, and does not know of pairs:
/// its interval is wider than [`crate::Comparison::interval`] where rounds differ.
pub fn ministat_column(rounds: &[Round], metric: &Metric, arm: Arm) -> String {
    let mut column = format!("# {} {}\n", metric.name(), metric.unit());
    for round in rounds {
        let known = round.a.inconclusive.is_none() && round.b.inconclusive.is_none();
        let a = round.a.readings.get(metric.name());
        let b = round.b.readings.get(metric.name());
        let (Some(a), Some(b), true) = (a, b, known) else { continue };
        let value = match arm {
            Arm::A => a.value(),
            Arm::B => b.value(),
        };
        // Writing into a String cannot fail.
        let _ = writeln!(column, "{value}");
    }
    column
}
