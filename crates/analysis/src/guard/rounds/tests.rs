use records::Outcome as FetchOutcome;

use super::{OverRounds, Ran};
use crate::guard::threshold::{Outcome, Threshold};
use crate::summarise;
use testkit::fixture::Run;

fn trial(failed: u64, us: u64) -> Ran {
    let outcomes =
        [(80 - failed, FetchOutcome::Ok, us), (failed, FetchOutcome::TimeoutNoByte, 1_000_500)];
    let records = Run::loaded(&outcomes).records;
    Ran {
        dir: "x".into(),
        summary: summarise(&records),
        fetches: records.fetches,
        proxy_fault: None,
    }
}

fn over(threshold: &str, trials: &[Ran], wanted: usize) -> OverRounds {
    let threshold: Threshold = threshold.parse().expect("a threshold");
    OverRounds::of(&threshold, &trials.iter().collect::<Vec<_>>(), wanted)
}

#[test]
fn more_than_half_must_hold() {
    let (good, bad) = (|| trial(0, 20_000), || trial(0, 300_000));
    let outcome = |trials: &[Ran]| over("p50<100ms", trials, trials.len()).outcome;
    assert_eq!(outcome(&[good()]), Outcome::Met);
    assert_eq!(outcome(&[bad()]), Outcome::Breached);
    assert_eq!(outcome(&[good(), bad()]), Outcome::Breached, "half is not enough");
    assert_eq!(outcome(&[good(), bad(), good()]), Outcome::Met);
    assert_eq!(outcome(&[good(), bad(), bad()]), Outcome::Breached);
}

#[test]
fn the_middle_round_is_the_one_shown() {
    let trials = [trial(0, 20_000), trial(0, 60_000), trial(0, 40_000)];
    assert_eq!(over("p50<100ms", &trials, 3).found, "40.0 ms");
    assert_eq!(over("p50<100ms", &trials[..2], 2).found, "60.0 ms", "the worse of two");
    assert_eq!(over("p50>10ms", &trials[..2], 2).found, "20.0 ms");
}

#[test]
fn rounds_that_prove_nothing_are_neither_met_nor_breached() {
    let good = || trial(0, 20_000);
    assert_eq!(over("p50<100ms", &[], 1).outcome, Outcome::Unknown);
    assert_eq!(over("p50<100ms", &[], 1).found, "no conclusive run");
    assert_eq!(over("p50<100ms", &[good(), good()], 5).outcome, Outcome::Unknown);
    assert_eq!(over("p50<100ms", &[good(), good(), good()], 5).outcome, Outcome::Met);
    let bad = [trial(0, 300_000), trial(0, 300_000)];
    assert_eq!(over("p50<100ms", &bad[..1], 5).outcome, Outcome::Unknown, "four might have met it");
    let held = over("longest_step<1ms", &bad, 5);
    assert_eq!(held.outcome, Outcome::Unknown, "three might have met it");
    assert_eq!(over("p50<100ms", &bad, 5).outcome, Outcome::Breached, "by all fetches there are");
    assert_eq!(over("p50<100ms", &bad, 3).outcome, Outcome::Breached);
    assert_eq!(over("p50<100ms", &bad, 4).outcome, Outcome::Breached, "two of four are not half");
}

#[test]
fn what_is_of_fetches_must_hold_of_all_rounds_together_too() {
    let trials = [trial(0, 20_000), trial(0, 20_000), trial(80, 20_000)];
    let held = over("failed_share<=0.01", &trials, 3);
    assert_eq!((held.outcome, held.met, held.breached), (Outcome::Breached, 2, 1));
    assert_eq!(held.found, "0.3333");
    // Of all 240 fetches 80 were never done: so were neither 90 nor 99 of 100.
    for (percentile, outcome) in
        [("p50", Outcome::Met), ("p90", Outcome::Breached), ("p99", Outcome::Breached)]
    {
        let held = over(&format!("{percentile}<100ms"), &trials, 3);
        assert_eq!((held.outcome, held.met, held.breached), (outcome, 2, 1), "{percentile}");
    }
    assert_eq!(over("p99<100ms", &trials, 3).found, ">= 1.000 s");
    assert_eq!(over("p99/idle_p99<5", &trials, 3).outcome, Outcome::Breached);
    // A number of fetches grows with the rounds.
    assert_eq!(over("failed<=10", &trials, 3).pooled, None);
    let one = over("failed_share<=0.01", &trials[..1], 1);
    assert_eq!((one.outcome, one.pooled), (Outcome::Met, None));
}
