//! The figures of `summary.json`, each from records alone.
//!
//! Those of the fetches of one phase stand here: outcomes, and times as an HDR histogram and the few
//! figures that reports show. Every sample counts, whatever its outcome.
//!
//! Not for: what held a fetch ([`crate::explain`]), or the verdict's rules ([`crate::judge`]).

pub(crate) mod log;
pub(crate) mod slow;
pub(crate) mod workers;

use std::collections::BTreeSet;

use hdrhistogram::Histogram;
use records::{
    CompletionUs, Fetch, FetchSummary, FetchTotals, LatencyUs, Micros, Outcome, OutcomeCounts,
    Phase,
};

/// Every fetch of `phase`, told one by one or counted: how it ended, and after how long how many did.
pub(crate) fn times(
    fetches: &[Fetch],
    totals: &[FetchTotals],
    phase: Phase,
) -> impl Iterator<Item = (Outcome, (Micros, u64))> + Clone {
    let told = fetches.iter().filter(move |fetch| fetch.phase == phase);
    let counted = totals.iter().filter(move |totals| totals.phase == phase);
    let counted =
        counted.flat_map(|totals| totals.times_us.iter().map(|times| (totals.outcome, *times)));
    told.map(|fetch| (fetch.outcome, (fetch.total_us, 1))).chain(counted)
}

/// Outcomes and times of the fetches of `phase`, told one by one or counted, all outcomes at their true age.
pub fn fetch_summary(fetches: &[Fetch], totals: &[FetchTotals], phase: Phase) -> FetchSummary {
    let of_phase = || fetches.iter().filter(move |fetch| fetch.phase == phase);
    let all = times(fetches, totals, phase);
    let mut outcomes = OutcomeCounts::default();
    all.clone().for_each(|(outcome, (_, count))| outcomes.add_many(outcome, count));
    let counted = times(&[], totals, phase).map(|(_, times)| times);
    let each = |time: fn(&Fetch) -> Micros| of_phase().map(move |fetch| (time(fetch), 1));
    let censored = Outcome::ALL.into_iter().filter(|outcome| outcome.is_censored());
    FetchSummary {
        attempts: outcomes.attempts(),
        latency_us: latency(all.clone().map(|(_, times)| times)),
        response_us: latency(each(|fetch| fetch.response_us).chain(counted)),
        failed_share: outcomes.failed_share().unwrap_or(0.0),
        censored: censored.map(|outcome| outcomes.count(outcome)).fold(0, u64::saturating_add),
        // A closed loop has no schedule to be late for.
        lag_us: latency(each(Fetch::lag_us)),
        completion_us: completion(all),
        outcomes,
    }
}

/// Whether the times from intended start tell something else than those from real start: a median,
/// 90th, 99th percentile or maximum that is more than 1 % off.
pub fn response_differs(fetches: &FetchSummary) -> bool {
    let figures = |latency: &LatencyUs| [latency.p50, latency.p90, latency.p99, latency.max];
    let mut both = figures(&fetches.latency_us).into_iter().zip(figures(&fetches.response_us));
    both.any(|(real, intended)| real.abs_diff(intended) > real / 100)
}

/// Fetches that were started but of which nothing is known: gaps in the numbers of those that have a record,
/// where they were not counted either.
///
/// A fast client counts from 0. One client for the whole run numbers on from phase to phase; one
/// client a phase begins again, which shows as numbers that are there twice.
pub(crate) fn missing(fetches: &[Fetch], totals: &[FetchTotals]) -> u64 {
    let counted = totals.iter().map(FetchTotals::fetches).fold(0, u64::saturating_add);
    numbers_missing(fetches).saturating_sub(counted)
}

fn numbers_missing(fetches: &[Fetch]) -> u64 {
    let gaps = |numbers: &BTreeSet<u64>| {
        numbers.last().map_or(0, |last| last.saturating_add(1).saturating_sub(numbers.len() as u64))
    };
    let all: BTreeSet<u64> = fetches.iter().map(|fetch| fetch.fetch).collect();
    if all.len() == fetches.len() {
        return gaps(&all);
    }
    let of_phase = |phase: Phase| {
        let of_phase = fetches.iter().filter(|fetch| fetch.phase == phase);
        gaps(&of_phase.map(|fetch| fetch.fetch).collect())
    };
    of_phase(Phase::Idle).saturating_add(of_phase(Phase::Measure))
}

/// Three significant digits: percentiles are at most 0.1 % off.
const DIGITS: u8 = 3;

/// Times are counted as at most this long, a day: nothing here lives longer, and the histogram
/// grows with its largest value.
const LONGEST: Micros = Micros(86_400_000_000);

/// The times, each with how many there are of it, as a histogram of us. It starts at the range of 1 us to 60 s and grows as needed.
pub(crate) fn histogram(times: impl IntoIterator<Item = (Micros, u64)>) -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, 60_000_000, DIGITS)
        .expect("constants within the bounds that the crate documents");
    histogram.auto(true);
    for (time, count) in times {
        let recorded = histogram.record_n(time.min(LONGEST).0, count);
        recorded.expect("a day is in reach of auto-resize");
    }
    histogram
}

/// The times in a few figures; all zero when there are none.
///
/// Smallest, largest and mean are exact; percentiles come from [`histogram`] and are never above
/// the largest.
fn latency(times: impl IntoIterator<Item = (Micros, u64)> + Clone) -> LatencyUs {
    let histogram = histogram(times.clone());
    let (mut min, mut max, mut sum) = (u64::MAX, 0, 0_u128);
    for (Micros(time), count) in times.into_iter().map(|(time, count)| (time.min(LONGEST), count)) {
        (min, max) = (min.min(time), max.max(time));
        sum += u128::from(time) * u128::from(count);
    }
    let Some(mean) = sum.checked_div(u128::from(histogram.len())) else {
        return LatencyUs::default();
    };
    let at = |quantile| histogram.value_at_quantile(quantile).min(max);
    LatencyUs {
        min,
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        max,
        mean: u64::try_from(mean).unwrap_or(u64::MAX),
    }
}

/// By when so many of those `fetches` that could be tried were done; `None` when there are none.
///
/// A fetch that failed never is, so it stands behind all others, and takes a quantile that reaches it
/// with it.
fn completion(
    fetches: impl Iterator<Item = (Outcome, (Micros, u64))> + Clone,
) -> Option<CompletionUs> {
    let tried = fetches.filter(|(outcome, _)| *outcome != Outcome::LocalError);
    tried.clone().next()?;
    let all =
        latency(tried.map(|(outcome, (time, count))| {
            (if outcome.is_failed() { LONGEST } else { time }, count)
        }));
    // A percentile is never above the largest, which is just that when any failed.
    let known = |us: u64| (us < LONGEST.0).then_some(us);
    let [p50, p90, p99, max] = [all.p50, all.p90, all.p99, all.max].map(known);
    Some(CompletionUs { p50, p90, p99, max })
}

#[cfg(test)]
mod tests;
