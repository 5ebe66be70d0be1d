//! What HdrHistogram's tools will read, against what they would have written.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use records::{Micros, Outcome, Phase};

use testkit::fixture::Run;

use super::{interval_log, percentiles};

fn percentile_text(run: &Run) -> String {
    percentiles(&run.records)
}

/// Ten fetches of 1 to 10 ms, in the form of HdrHistogram's `outputPercentileDistribution(out, 5,
/// 1000.0)`.
#[test]
fn percentile_text_is_that_of_hdrhistogram() {
    let mut run = Run::new();
    run.fetches(Phase::Idle, 3, Outcome::Ok, 77_000);
    for ms in 1..=10 {
        run.fetches(Phase::Measure, 1, Outcome::Ok, ms * 1_000);
    }
    insta::assert_snapshot!(percentile_text(&run));
}

#[test]
fn no_fetch_is_an_empty_distribution() {
    insta::assert_snapshot!(percentile_text(&Run::new()));
}

#[test]
fn the_interval_log_reads_back_second_by_second() {
    let run = Run::starved();
    let log = interval_log(&run.records).expect("memory takes all");
    let text = String::from_utf8(log.clone()).expect("text");
    assert!(text.starts_with("#[Histogram log format version 1.3]\n"), "{text}");
    assert!(text.contains("#[StartTime: 1789984800.000 (seconds since epoch)]"), "{text}");

    let mut last_start = Duration::ZERO;
    let mut tags: BTreeMap<String, f64> = BTreeMap::new();
    for entry in IntervalLogIterator::new(&log) {
        let LogEntry::Interval(interval) = entry.expect("our own log") else { continue };
        assert_eq!(interval.duration(), Duration::from_secs(1));
        assert!(interval.start_timestamp() >= last_start, "in order");
        last_start = interval.start_timestamp();
        let most = tags.entry(interval.tag().expect("a tag").as_str().to_owned()).or_default();
        *most = most.max(interval.max());
    }
    // ms, to three digits.
    assert_eq!(tags.keys().collect::<Vec<_>>(), ["idle", "measure"]);
    assert!(
        (tags["idle"] - 5.0).abs() < 0.01 && (tags["measure"] - 1_004.0).abs() < 1.0,
        "{tags:?}"
    );
    assert_eq!(last_start, Duration::from_secs(12));
}

#[test]
fn a_start_that_is_no_time_is_left_out() {
    let mut run = Run::starved();
    run.records.manifest.started_at = "yesterday".to_owned();
    let log = interval_log(&run.records).expect("memory takes all");
    let text = String::from_utf8(log).expect("text");
    assert!(!text.contains("StartTime"), "{text}");
}

#[test]
fn a_time_beyond_a_day_is_counted_as_a_day() {
    let mut run = Run::new();
    run.fetches(Phase::Measure, 1, Outcome::Ok, u64::MAX);
    run.records.fetches[0].total_us = Micros(u64::MAX);
    assert!(percentile_text(&run).contains("Total count    =            1]"));
}
