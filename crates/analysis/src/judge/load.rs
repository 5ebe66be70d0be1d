//! Whether the load stood while fetches were measured.
//!
//! A load that has stopped makes every fetch fast. Less load than was asked for cannot make a run look
//! starved that is not; in such a run downloads also stand still behind each other, which is what is
//! being measured. So this is asked of the others alone.

use records::{Micros, percent, percent_beside};

use super::facts::{Facts, Measured};
use super::wording::count;
use crate::thresholds::Thresholds;

/// Why a run without starvation proves nothing: there was no load to stand up to. `None`: there was,
/// or none was asked for.
pub(crate) fn fallen(facts: &Facts<'_>, thresholds: &Thresholds) -> Option<String> {
    let (slow, measured) = (facts.manifest.arm.load.slow, facts.summary.measured_us);
    if slow == 0 || facts.measured == Measured::Never || measured == Micros(0) {
        return None;
    }
    if facts.summary.slow.bytes.0 == 0 {
        return Some("no download received a byte while fetches were measured".to_owned());
    }
    stood_still(facts, thresholds).or_else(|| kept_breaking(facts, thresholds))
}

fn stood_still(facts: &Facts<'_>, thresholds: &Thresholds) -> Option<String> {
    let long = facts.flow.still.iter().filter(|still| **still >= thresholds.standstill);
    let still = Micros(long.fold(0, |sum, still| still.0.saturating_add(sum)));
    let measured = facts.summary.measured_us;
    let share = still.as_secs() / measured.as_secs();
    (share > thresholds.stood_still_share).then(|| {
        format!(
            "for {still} of {measured} no download received a byte ({}; at most {}): there was \
             hardly any load",
            percent_beside(share, thresholds.stood_still_share),
            percent(thresholds.stood_still_share)
        )
    })
}

fn kept_breaking(facts: &Facts<'_>, thresholds: &Thresholds) -> Option<String> {
    let (slow, measured) = (facts.manifest.arm.load.slow, facts.summary.measured_us);
    let in_all = measured.0.saturating_mul(u64::from(slow));
    let life = Micros(in_all.checked_div(facts.flow.broken)?);
    (life < thresholds.download_life).then(|| {
        format!(
            "{} broke off in {measured}: each of {slow} lasted {} in the mean (below {} that is \
             no load; `downloads.ndjson` tells how they ended)",
            count(facts.flow.broken, "download", "downloads"),
            life.beside(thresholds.download_life),
            thresholds.download_life
        )
    })
}

#[cfg(test)]
mod tests;
