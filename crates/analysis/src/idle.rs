//! Whether the idle phase is a baseline, or stalls by itself.
//!
//! A server that stops for most of a second now and then does so under load as well: beside such an
//! idle phase the load would look harmless.

use records::{Fetch, FetchSummary, Micros, Outcome, Phase};

use crate::thresholds::{Thresholds, part};

/// The idle fetches that stalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdlePhase {
    /// An idle fetch that took longer stalled; so did one that failed.
    pub(crate) limit_us: Micros,
    /// How many did.
    pub(crate) stalled: u64,
    /// Of so many that could be tried.
    pub(crate) of: u64,
    /// Whether that is more than chance.
    pub(crate) steadiness: Steadiness,
}

/// What the idle phase is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steadiness {
    /// What is under load can be held against it.
    Steady,
    /// It stalls by itself.
    Stalls,
}

impl IdlePhase {
    /// The idle phase of a run whose idle fetches `idle` sums up.
    pub(crate) fn of(
        fetches: &[Fetch],
        idle: &FetchSummary,
        cap: Micros,
        thresholds: &Thresholds,
    ) -> Self {
        let p50 = idle.completion_us.and_then(|all| all.p50).unwrap_or(u64::MAX);
        let [least, most] =
            [thresholds.stall_least_of_cap, thresholds.stall_most_of_cap].map(|of| part(cap, of));
        let limit_us = Micros(p50.saturating_mul(thresholds.stall_p50_factor)).clamp(least, most);
        let stalls = |fetch: &&Fetch| fetch.outcome.is_failed() || fetch.total_us > limit_us;
        let tried = fetches
            .iter()
            .filter(|fetch| fetch.phase == Phase::Idle && fetch.outcome != Outcome::LocalError);
        let stalled = tried.filter(stalls).count() as u64;
        let of = idle.outcomes.tried();
        let many = stalled as f64 > of as f64 * thresholds.stalled_share;
        let steadiness = if stalled >= thresholds.stalled_fetches && many {
            Steadiness::Stalls
        } else {
            Steadiness::Steady
        };
        Self { limit_us, stalled, of, steadiness }
    }
}
