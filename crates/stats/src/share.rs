//! Shares of failed fetches, with intervals.

use serde::Serialize;

use crate::sample::{Numbers, z_critical};
use crate::{Confidence, Interval};

/// So many of so many; never of none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    failed: u64,
    attempts: u64,
}

impl Count {
    /// # Errors
    /// When there was no attempt, or more failed than were made.
    pub fn new(failed: u64, attempts: u64) -> Result<Self, CountError> {
        if attempts == 0 || failed > attempts {
            return Err(CountError { failed, attempts });
        }
        Ok(Self { failed, attempts })
    }

    /// The share that failed.
    pub fn share(self) -> f64 {
        self.failed as f64 / self.attempts as f64
    }
}

/// A count that has no share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{failed} failed of {attempts} attempts is no share")]
pub struct CountError {
    failed: u64,
    attempts: u64,
}

/// A share with its interval, all within 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ShareInterval {
    /// The share seen.
    pub share: f64,
    /// Where it may be.
    pub interval: Interval,
}

/// Wilson's score interval (1927) of one run's failed share.
///
/// It takes fetches for independent, which those of one run are not: it says how far this run may
/// be from what it would have shown with endless fetches, not how runs differ. For several runs use
/// [`share_over_rounds`].
pub fn wilson(count: Count, confidence: Confidence) -> ShareInterval {
    let (n, share) = (count.attempts as f64, count.share());
    let z = z_critical(confidence.alpha());
    let shrink = 1.0 + z * z / n;
    let centre = (share + z * z / (2.0 * n)) / shrink;
    let reach = z / shrink * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    // At 0 and 1 the ends are exact; rounding must not move the share out of its interval.
    let interval = Interval {
        low: (centre - reach).clamp(0.0, share),
        high: (centre + reach).clamp(share, 1.0),
    };
    ShareInterval { share, interval }
}

/// The mean of the runs' shares, each run counting once, with the honest interval: the hull of
/// Student's interval over runs and of Wilson's over all fetches. Where runs differ the first is the wider;
/// where no fetch failed in any, runs show no difference at all, and the second says how much that
/// is worth. `None` without a run; of one run it is Wilson's, and says nothing of other runs.
pub fn share_over_rounds(runs: &[Count], confidence: Confidence) -> Option<ShareInterval> {
    let shares: Vec<f64> = runs.iter().map(|run| run.share()).collect();
    let total = |part: fn(&Count) -> u64| runs.iter().map(part).fold(0, u64::saturating_add);
    let all = Count::new(total(|run| run.failed), total(|run| run.attempts)).ok()?;
    let pooled = wilson(all, confidence).interval;
    let over_runs = Numbers::Paired(shares);
    let share = over_runs.effect();
    let over_runs = over_runs.interval(confidence.alpha());
    let hull = over_runs.map_or(pooled, |over| over.hull(pooled));
    let interval = Interval { low: hull.low.clamp(0.0, share), high: hull.high.clamp(share, 1.0) };
    Some(ShareInterval { share, interval })
}
