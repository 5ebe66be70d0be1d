//! Whether the load was there, and stood while fetches were measured.
//!
//! A load that has stopped makes every fetch fast. Less load than was asked for cannot make a run look
//! starved that is not; in such a run downloads also stand still behind each other, which is what is
//! being measured. So this is asked of the others alone.

use records::{Micros, percent, percent_beside};

use super::facts::{Facts, Measured};
use super::{count, list};

/// Why a run without starvation proves nothing: there was no load to stand up to. `None`: there was,
/// or none was asked for.
pub(crate) fn fallen(facts: &Facts<'_>) -> Option<String> {
    let (slow, measured) = (facts.manifest.arm.load.slow, facts.summary.measured_us);
    if slow == 0 || facts.measured == Measured::Never || measured == Micros(0) {
        return None;
    }
    if facts.summary.slow.bytes.0 == 0 {
        return Some("no download received a byte while fetches were measured".to_owned());
    }
    stood_still(facts).or_else(|| kept_breaking(facts))
}

fn stood_still(facts: &Facts<'_>) -> Option<String> {
    let long = facts.flow.still.iter().filter(|still| **still >= facts.thresholds.standstill);
    let still = Micros(long.fold(0, |sum, still| still.0.saturating_add(sum)));
    let measured = facts.summary.measured_us;
    let share = still.as_secs() / measured.as_secs();
    (share > facts.thresholds.stood_still_share).then(|| {
        format!(
            "for {still} of {measured} no download received a byte ({}; at most {}): there was \
             hardly any load",
            percent_beside(share, facts.thresholds.stood_still_share),
            percent(facts.thresholds.stood_still_share)
        )
    })
}

fn kept_breaking(facts: &Facts<'_>) -> Option<String> {
    let (slow, measured) = (facts.manifest.arm.load.slow, facts.summary.measured_us);
    let in_all = measured.0.saturating_mul(u64::from(slow));
    let life = Micros(in_all.checked_div(facts.flow.broken)?);
    (life < facts.thresholds.download_life).then(|| {
        format!(
            "{} broke off in {measured}: each of {slow} lasted {} in the mean (below {} that is \
             no load; `downloads.ndjson` tells how they ended)",
            count(facts.flow.broken, "download", "downloads"),
            life.beside(facts.thresholds.download_life),
            facts.thresholds.download_life
        )
    })
}

/// What downloads that never received a byte mean for a run: a load that was not there, or the effect
/// at its strongest. A worker that one download holds from the first moment serves no other either.
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
    pub(crate) fn of(facts: &Facts<'_>) -> Self {
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
        let starved = share >= facts.thresholds.starved_share;
        if starved && summary.slow.bytes.0 > 0 {
            Self::HeldToo(format!("{finding}: held like the fetches, while others moved"))
        } else {
            Self::NoLoad(finding)
        }
    }
}
