use records::{Outcome, Phase};

use testkit::fixture::Run;

use super::*;

fn truth(run: &Run) -> LogTruth {
    log_truth(&Join::of(&run.records))
}

/// One fetch that took `total_us`, logged with this status and time.
fn logged(outcome: Outcome, total_us: u64, status: u16, rt_ms: u64) -> LogTruth {
    let mut run = Run::new();
    run.fetches(Phase::Measure, 1, outcome, total_us);
    let session = &mut run.records.sessions[0];
    (session.status, session.log.rt_ms) = (status, rt_ms);
    truth(&run)
}

#[test]
fn a_failure_that_is_logged_as_such_with_its_time_is_the_truth() {
    let found = logged(Outcome::TimeoutNoByte, 1_004_000, 499, 1_004);
    assert_eq!(found, LogTruth { failed: 1, ..LogTruth::default() });
}

/// The published case: 1.004 s, logged as 499 with 0.000.
#[test]
fn a_time_may_be_hidden() {
    let found = logged(Outcome::TimeoutNoByte, 1_004_000, 499, 0);
    let largest_gap_us = Micros(1_004_000);
    assert_eq!(
        found,
        LogTruth { failed: 1, understated: 1, largest_gap_us, ..LogTruth::default() }
    );
}

#[test]
fn a_failure_may_be_called_ok() {
    let found = logged(Outcome::TimeoutPartial, 1_000_000, 200, 1_000);
    assert_eq!(found, LogTruth { failed: 1, called_ok: 1, ..LogTruth::default() });
    let found = logged(Outcome::Ok, 1_000_000, 200, 1_000);
    assert_eq!(found, LogTruth::default(), "it was ok");
}

#[test]
fn a_time_may_be_overstated() {
    let found = logged(Outcome::Ok, 5_000, 200, 30);
    let largest_gap_us = Micros(25_000);
    assert_eq!(found, LogTruth { overstated: 1, largest_gap_us, ..LogTruth::default() });
}

/// Under 10 ms it is the log's resolution; within a factor of 2 it is near enough.
#[test]
fn small_differences_are_told_as_a_gap_only() {
    for (total_us, rt_ms, gap) in
        [(9_999, 0, 9_999), (100_000, 50, 50_000), (100_000, 200, 100_000)]
    {
        let found = logged(Outcome::Ok, total_us, 200, rt_ms);
        assert_eq!(found, LogTruth { largest_gap_us: Micros(gap), ..LogTruth::default() });
    }
}

/// Nobody accepted the first, and the second asked for nothing. The third was ok.
#[test]
fn a_failure_may_be_in_no_line() {
    let mut run = Run::new();
    run.fetches(Phase::Measure, 2, Outcome::TimeoutNoByte, 1_004_000);
    run.fetches(Phase::Measure, 1, Outcome::Ok, 5_000);
    run.records.sessions[1].status = 0;
    for lost in [0, 1] {
        run.records.sessions.remove(lost);
        run.records.accepted.remove(lost);
    }
    assert_eq!(truth(&run), LogTruth { failed: 2, unlogged: 2, ..LogTruth::default() });
}

#[test]
fn fetches_without_load_do_not_count() {
    let mut run = Run::new();
    run.fetches(Phase::Idle, 3, Outcome::TimeoutNoByte, 1_004_000);
    assert_eq!(truth(&run), LogTruth::default());
}

#[test]
fn the_largest_gap_is_of_all() {
    let mut run = Run::starved();
    let found = truth(&run);
    assert_eq!((found.failed, found.called_ok, found.unlogged), (62, 18, 0));
    assert_eq!((found.understated, found.largest_gap_us), (44, Micros(1_004_000)));
    run.records.sessions.iter_mut().for_each(|session| session.log.rt_ms = u64::MAX);
    assert_eq!(truth(&run).overstated, 80);
}
