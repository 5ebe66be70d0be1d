//! From times to a distribution: an HDR histogram and the few figures that reports show.
//!
//! Invariant: every sample counts, whatever its outcome.

use hdrhistogram::Histogram;
use records::{CompletionUs, Fetch, LatencyUs, Micros, Outcome};

/// Three significant digits: percentiles are at most 0.1 % off.
const DIGITS: u8 = 3;

/// Times are counted as at most this long, a day: nothing here lives longer, and the histogram
/// grows with its largest value.
const LONGEST: Micros = Micros(86_400_000_000);

/// The times as a histogram of us. It starts at the range of 1 us to 60 s and grows as needed.
pub(crate) fn histogram(times: impl IntoIterator<Item = Micros>) -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, 60_000_000, DIGITS)
        .expect("constants within the bounds that the crate documents");
    histogram.auto(true);
    for time in times {
        histogram.record(time.min(LONGEST).0).expect("a day is in reach of auto-resize");
    }
    histogram
}

/// The times in a few figures; all zero when there are none.
///
/// Smallest, largest and mean are exact; percentiles come from [`histogram`] and are never above
/// the largest.
pub(crate) fn latency(times: impl IntoIterator<Item = Micros> + Clone) -> LatencyUs {
    let histogram = histogram(times.clone());
    let (mut min, mut max, mut sum) = (u64::MAX, 0, 0_u128);
    for Micros(time) in times.into_iter().map(|time| time.min(LONGEST)) {
        (min, max) = (min.min(time), max.max(time));
        sum += u128::from(time);
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
pub(crate) fn completion<'a>(
    fetches: impl Iterator<Item = &'a Fetch> + Clone,
) -> Option<CompletionUs> {
    let tried = fetches.filter(|fetch| fetch.outcome != Outcome::LocalError);
    tried.clone().next()?;
    let failed = |fetch: &Fetch| fetch.outcome.is_failed();
    let all = latency(tried.map(|fetch| if failed(fetch) { LONGEST } else { fetch.total_us }));
    // A percentile is never above the largest, which is just that when any failed.
    let known = |us: u64| (us < LONGEST.0).then_some(us);
    Some(CompletionUs {
        p50: known(all.p50),
        p90: known(all.p90),
        p99: known(all.p99),
        max: known(all.max),
    })
}
