use records::{Outcome, Phase};

use testkit::fixture::Run;

use super::*;

fn truth(run: &Run) -> LogTruth {
    log_truth(&Join::of(&run.records))
}

#[test]
fn one_fetch_and_its_line() {
    let none = LogTruth::default;
    let gap = |us| LogTruth { largest_gap_us: Micros(us), ..LogTruth::default() };
    for (what, outcome, total_us, status, rt_ms, expected) in [
        (
            "a failure that is logged as such, with its time",
            Outcome::TimeoutNoByte,
            1_004_000,
            499,
            1_004,
            LogTruth { failed: 1, ..none() },
        ),
        (
            "the published case: a time is hidden",
            Outcome::TimeoutNoByte,
            1_004_000,
            499,
            0,
            LogTruth { failed: 1, understated: 1, ..gap(1_004_000) },
        ),
        (
            "a failure is called ok",
            Outcome::TimeoutPartial,
            1_000_000,
            200,
            1_000,
            LogTruth { failed: 1, called_ok: 1, ..none() },
        ),
        ("it was ok", Outcome::Ok, 1_000_000, 200, 1_000, none()),
        (
            "a time is overstated",
            Outcome::Ok,
            5_000,
            200,
            30,
            LogTruth { overstated: 1, ..gap(25_000) },
        ),
        // Under 10 ms it is the log's resolution; within a factor of 2 it is near enough.
        ("under 10 ms", Outcome::Ok, 9_999, 200, 0, gap(9_999)),
        ("half as long", Outcome::Ok, 100_000, 200, 50, gap(50_000)),
        ("twice as long", Outcome::Ok, 100_000, 200, 200, gap(100_000)),
    ] {
        let mut run = Run::new();
        run.fetches(Phase::Measure, 1, outcome, total_us);
        let session = &mut run.records.sessions[0];
        (session.status, session.log.rt_ms) = (status, rt_ms);
        assert_eq!(truth(&run), expected, "{what}");
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
