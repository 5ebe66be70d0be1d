//! A load that is not there makes every fetch fast.

use records::{Bytes, DownloadEnd, Micros, Outcome, Verdict};

use crate::judge::tests::{only_reason, verdict};
use testkit::fixture::{Run, at_ms};

/// Fetches as fast as without load, beside two downloads that move at a constant rate.
fn healthy() -> Run {
    Run::loaded(&[(80, Outcome::Ok, 6_000)])
}

/// All fetches failed, beside the same downloads.
fn starved() -> Run {
    Run::loaded(&[(80, Outcome::TimeoutNoByte, 1_001_000)])
}

/// No download receives anything from then on.
fn stall(run: &mut Run, from_ms: u64, to_ms: u64) {
    let stalled = |start| (at_ms(from_ms)..at_ms(to_ms)).contains(&start);
    for interval in run.records.intervals.iter_mut().filter(|i| stalled(i.start_ns)) {
        interval.bytes.fill(Bytes(0));
    }
}

/// Each download breaks off `times` in the measure phase of 8 s.
fn cut(run: &mut Run, times: u64, end: DownloadEnd) {
    let whole = run.records.downloads.clone();
    run.records.downloads.clear();
    for download in whole {
        for part in 0..times {
            let mut one = download.clone();
            one.ordinal = u32::try_from(part).expect("few");
            one.start_ns = at_ms(5_000 + part * 8_000 / times);
            (one.total_us, one.bytes, one.end) = (Micros(900), Bytes::kib(64), end);
            run.records.downloads.push(one);
        }
    }
}

#[test]
fn a_load_that_stopped_before_fetches_ran_proves_nothing() {
    let mut run = healthy();
    assert_eq!(verdict(&run), Verdict::Healthy);
    stall(&mut run, 5_000, 20_000);
    assert_eq!(only_reason(&run), "no download received a byte while fetches were measured");
    // What starves fetches may starve downloads too.
    let mut run = starved();
    stall(&mut run, 5_000, 20_000);
    assert_eq!(verdict(&run), Verdict::Starved);
    // A slow median is as good.
    let mut run = Run::loaded(&[(80, Outcome::Ok, 500_000)]);
    stall(&mut run, 5_000, 20_000);
    assert_eq!(verdict(&run), Verdict::Starved);
}

#[test]
fn a_degraded_run_needs_its_load_as_well() {
    let mut run = Run::loaded(&[(80, Outcome::Ok, 6_000), (2, Outcome::Ok, 60_000)]);
    assert_eq!(verdict(&run), Verdict::Degraded);
    stall(&mut run, 5_000, 20_000);
    assert_eq!(verdict(&run), Verdict::Inconclusive);
}

#[test]
fn half_of_the_measure_phase_may_pass_without_a_byte() {
    let mut run = healthy();
    stall(&mut run, 6_000, 10_000);
    assert_eq!(verdict(&run), Verdict::Healthy, "4 s of 8 s");
    let mut run = healthy();
    stall(&mut run, 5_500, 10_000);
    let reason = only_reason(&run);
    assert!(reason.starts_with("for 4.500 s of 8.000 s no download received a byte (56 %"));
    // One that moves is load enough.
    for interval in &mut run.records.intervals {
        interval.bytes[1] = Bytes(1);
    }
    assert_eq!(verdict(&run), Verdict::Healthy);
}

/// A download that is read at 1 B/s gets a byte each second.
#[test]
fn downloads_that_are_read_slowly_do_not_stand_still() {
    let mut run = healthy();
    for (index, interval) in run.records.intervals.iter_mut().enumerate() {
        interval.bytes.fill(Bytes(u64::from(index % 2 == 0)));
    }
    assert_eq!(verdict(&run), Verdict::Healthy);
}

#[test]
fn intervals_that_are_missing_are_time_without_a_byte() {
    let mut run = healthy();
    run.records.intervals.retain(|interval| interval.start_ns < at_ms(7_000));
    let reason = only_reason(&run);
    assert!(reason.starts_with("for 6.000 s of 8.000 s"), "{reason}");
}

#[test]
fn downloads_that_keep_breaking_off_are_no_load() {
    for end in [
        DownloadEnd::ClosedEarly,
        DownloadEnd::Reset,
        DownloadEnd::BadStatus,
        DownloadEnd::Refused,
        DownloadEnd::LocalError,
    ] {
        let mut run = healthy();
        cut(&mut run, 200, end);
        let reason = only_reason(&run);
        let says = "400 downloads broke off in 8.000 s: each of 2 lasted 40.0 ms in the mean";
        assert!(reason.starts_with(says), "{reason}");
    }
    let mut run = healthy();
    cut(&mut run, 200, DownloadEnd::Completed);
    assert_eq!(verdict(&run), Verdict::Healthy, "small ones that are whole are what was asked for");
    let mut run = starved();
    cut(&mut run, 200, DownloadEnd::Reset);
    assert_eq!(verdict(&run), Verdict::Starved);
}

#[test]
fn a_download_may_break_off_every_four_seconds() {
    let mut run = healthy();
    cut(&mut run, 2, DownloadEnd::Reset);
    assert_eq!(verdict(&run), Verdict::Healthy, "4 of 2 in 8 s");
    cut(&mut run, 3, DownloadEnd::Reset);
    assert_eq!(verdict(&run), Verdict::Inconclusive);
    // Before and after fetches were measured they break off for reasons of their own.
    for download in &mut run.records.downloads {
        download.start_ns = at_ms(4_100);
    }
    assert_eq!(verdict(&run), Verdict::Healthy);
}

#[test]
fn who_asked_for_no_load_needs_none() {
    let mut run = Run::good();
    run.fetches(records::Phase::Measure, 80, Outcome::Ok, 5_300);
    assert_eq!(verdict(&run), Verdict::Healthy);
}
