//! What a run proves: the verdict with its reasons, and the caveats.
//!
//! Not for: making figures. The judge reads a summary and the few [`Facts`] beside it, and applies
//! the [thresholds](crate::Thresholds) among them.
//!
//! Invariant: a run whose preconditions failed is `inconclusive`, however its figures look.

mod caveats;
mod facts;
mod load;
mod preconditions;
mod rules;

use records::{Arm, Verdict};

pub(crate) use records::count;

use rules::Rules;

pub(crate) use caveats::caveats;
pub(crate) use facts::Facts;

/// Judges a run: preconditions first, then `starved`, `degraded`, `healthy`. What it proves, and why:
/// sentences with figures and the threshold applied, the weightiest first; never empty.
pub(crate) fn judge(facts: &Facts<'_>) -> (Verdict, Vec<String>) {
    let against = preconditions::failed(facts);
    if !against.is_empty() {
        return (Verdict::Inconclusive, against);
    }
    let rules = Rules::of(facts);
    (rules.verdict(), rules.reasons())
}

/// Why a fetch could not be tried.
pub(crate) const SHORTAGE: &str = "this host had no descriptor, port or memory left";

/// What would do about it.
pub(crate) const MORE: &str =
    "raise `ulimit -n`, widen net.ipv4.ip_local_port_range, or lower --arrivals";

/// When the fetches of the measure phase ran.
pub const fn measured_when(arm: &Arm) -> &'static str {
    if arm.load.slow == 0 { "with no load" } else { "under load" }
}

/// Items as `0`, `0 and 1`, `0, 1 and 2`; beyond five: `0, 1, 2, 3, 4 and 7 more`.
pub(crate) fn list<T: ToString>(items: &[T]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = items.iter().take(SHOWN).map(ToString::to_string).collect();
    match (shown.as_slice(), items.len().saturating_sub(SHOWN)) {
        (shown, more @ 1..) => format!("{} and {more} more", shown.join(", ")),
        ([head @ .., last], 0) if !head.is_empty() => format!("{} and {last}", head.join(", ")),
        (shown, 0) => shown.concat(),
    }
}

#[cfg(test)]
mod tests;
