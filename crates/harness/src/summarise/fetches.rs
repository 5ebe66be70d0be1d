//! The fetches of one phase in figures.

use std::collections::BTreeSet;

use records::{Fetch, FetchSummary, LatencyUs, Outcome, OutcomeCounts, Phase};

use super::latency::{completion, latency};

/// Outcomes and times of the fetches of `phase`, all outcomes at their true age.
pub(crate) fn summary(fetches: &[Fetch], phase: Phase) -> FetchSummary {
    let of_phase = || fetches.iter().filter(move |fetch| fetch.phase == phase);
    let outcomes: OutcomeCounts = of_phase().map(|fetch| fetch.outcome).collect();
    let censored = Outcome::ALL.into_iter().filter(|outcome| outcome.is_censored());
    FetchSummary {
        attempts: outcomes.attempts(),
        latency_us: latency(of_phase().map(|fetch| fetch.total_us)),
        response_us: latency(of_phase().map(|fetch| fetch.response_us)),
        failed_share: outcomes.failed_share().unwrap_or(0.0),
        censored: censored.map(|outcome| outcomes.count(outcome)).fold(0, u64::saturating_add),
        lag_us: latency(of_phase().map(Fetch::lag_us)),
        completion_us: completion(of_phase()),
        outcomes,
    }
}

/// Whether the times from intended start tell something else than those from real start: a median,
/// 90th, 99th percentile or maximum that is more than 1 % off.
pub fn response_differs(fetches: &FetchSummary) -> bool {
    let figures = |latency: &LatencyUs| [latency.p50, latency.p90, latency.p99, latency.max];
    figures(&fetches.latency_us)
        .into_iter()
        .zip(figures(&fetches.response_us))
        .any(|(real, intended)| real.abs_diff(intended) > real / 100)
}

/// Fetches that were started but of which no record is there: gaps in their numbers.
///
/// A fast client counts from 0. One client for the whole run numbers on from phase to phase; one
/// client a phase begins again, which shows as numbers that are there twice.
pub(crate) fn missing(fetches: &[Fetch]) -> u64 {
    let gaps = |numbers: &BTreeSet<u64>| {
        numbers.last().map_or(0, |last| last.saturating_add(1).saturating_sub(numbers.len() as u64))
    };
    let all: BTreeSet<u64> = fetches.iter().map(|fetch| fetch.fetch).collect();
    if all.len() == fetches.len() {
        return gaps(&all);
    }
    [Phase::Idle, Phase::Measure]
        .into_iter()
        .map(|phase| {
            let of_phase = fetches.iter().filter(|fetch| fetch.phase == phase);
            gaps(&of_phase.map(|fetch| fetch.fetch).collect())
        })
        .fold(0, u64::saturating_add)
}
