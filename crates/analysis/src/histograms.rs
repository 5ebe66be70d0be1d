//! Latencies in the two formats that HdrHistogram's own tools read.
//!
//! `fast.hlog` is an interval log: one line a second and phase, tagged `idle` or `measure`, for the
//! course of a run. `fast.hgrm` is percentile text: the measure phase as one distribution, for
//! plotting runs over one another. Times are those from start to end, all outcomes; do not correct
//! them for coordinated omission, they were recorded without it.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use records::{Micros, MonoNs, Phase, RunRecords};

use crate::figures::{histogram, times};
use crate::window::{Windows, grouped};

/// Length of an interval of the log.
const INTERVAL: Duration = Duration::from_secs(1);

/// us in the unit of both formats, ms.
const US_PER_MS: f64 = 1_000.0;

/// Percentile steps in each half of the distance to 100 %: what HdrHistogram prints by default.
const TICKS_PER_HALF_DISTANCE: u32 = 5;

/// The interval log: values in us, `Interval_Max` in ms.
///
/// A fetch counts in the second in which it was meant to start. `StartTime` and `BaseTime` are the
/// start of the run, so that intervals stand as seconds into the run.
///
/// # Errors
/// A histogram cannot be put into its form; none of ours cannot.
pub fn interval_log(records: &RunRecords) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    builder.add_comment("[Histogram log format version 1.3]");
    builder.add_comment("[Latencies of fetches, us, by intended start]");
    builder.with_max_value_divisor(US_PER_MS);
    if let Some(started) = started_at(records) {
        builder.with_start_time(started).with_base_time(started);
    }
    let mut log = builder.begin_log_with(&mut out, &mut serializer)?;
    for ((second, phase), times) in by_second(records) {
        let histogram = histogram(times);
        let start = INTERVAL.saturating_mul(second);
        let written = log.write_histogram(&histogram, start, INTERVAL, Tag::new(phase.name()));
        written.map_err(io::Error::other)?;
    }
    Ok(out)
}

/// Times of fetches by the second of the run in which they were meant to start, and their phase; those that
/// are only counted by the second from which on they ended.
fn by_second(records: &RunRecords) -> BTreeMap<(u32, Phase), Vec<(Micros, u64)>> {
    let start = Windows::of(records).run.start;
    let second = |at: MonoNs| u32::try_from(at.since(start).as_secs()).unwrap_or(u32::MAX);
    let told = records.fetches.iter();
    let told = told.map(|fetch| ((second(fetch.intended_ns), fetch.phase), (fetch.total_us, 1)));
    let counted = records.fetch_totals.iter().flat_map(|totals| {
        let interval = (second(totals.from_ns), totals.phase);
        totals.times_us.iter().map(move |times| (interval, *times))
    });
    grouped(told.chain(counted))
}

fn started_at(records: &RunRecords) -> Option<SystemTime> {
    let started: jiff::Timestamp = records.manifest.started_at.parse().ok()?;
    Some(SystemTime::from(started)).filter(|&time| time >= SystemTime::UNIX_EPOCH)
}

/// Percentile text of the fetches under load, in ms, in the columns and with the footer of
/// HdrHistogram's `outputPercentileDistribution` (2.1, Java).
pub fn percentiles(records: &RunRecords) -> String {
    let measured = times(&records.fetches, &records.fetch_totals, Phase::Measure);
    let histogram = histogram(measured.map(|(_, times)| times));
    let mut text = format!(
        "{:>12} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let mut total = 0;
    for step in histogram.iter_quantiles(TICKS_PER_HALF_DISTANCE) {
        total += step.count_since_last_iteration();
        let value = step.value_iterated_to() as f64 / US_PER_MS;
        let quantile = step.quantile_iterated_to();
        // The last step has no such ratio, and no column for it.
        let ratio = (quantile < 1.0).then(|| format!(" {:>14.2}", 1.0 / (1.0 - quantile)));
        let ratio = ratio.unwrap_or_default();
        text += &format!("{value:>12.3} {quantile:>2.12} {total:>10}{ratio}\n");
    }
    text + &footer(&histogram)
}

fn footer(histogram: &Histogram<u64>) -> String {
    let mean = histogram.mean() / US_PER_MS;
    let deviation = histogram.stdev() / US_PER_MS;
    let max = histogram.max() as f64 / US_PER_MS;
    let (count, buckets, per_bucket) = (histogram.len(), histogram.buckets(), SUB_BUCKETS);
    format!(
        "#[Mean    = {mean:>12.3}, StdDeviation   = {deviation:>12.3}]\n\
         #[Max     = {max:>12.3}, Total count    = {count:>12}]\n\
         #[Buckets = {buckets:>12}, SubBuckets     = {per_bucket:>12}]\n"
    )
}

/// Sub-buckets of a histogram of three digits: the next power of two from 2 x 10^3
/// (HdrHistogram keeps single-unit resolution up to there).
const SUB_BUCKETS: u32 = 2_048;

#[cfg(test)]
mod tests;
