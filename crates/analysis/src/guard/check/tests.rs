use records::{ArmSpec, Outcome as FetchOutcome, Side};

use super::{Asked, Check, Save};
use crate::guard::rounds::{FailOn, Ran};
use crate::guard::tests::{self, of as ran};
use crate::guard::{Gate, Threshold};
use testkit::fixture::Run;

fn good() -> Ran {
    tests::ran(0, 20_000)
}

fn starved() -> Ran {
    tests::ran(40, 20_000)
}

/// A trial that somebody on this side died in.
fn spoilt(side: Side) -> Ran {
    let mut run = Run::loaded(&[(80, FetchOutcome::Ok, 20_000)]);
    run.fault(side, &format!("the {side:?} role ended unasked"));
    ran(&run)
}

/// One that the host or the load spoilt.
fn dead() -> Ran {
    spoilt(Side::Origin)
}

fn check(thresholds: &[&str], save: Save, rounds: usize, trials: &[Ran]) -> Check {
    asked(thresholds, None, save, rounds, trials)
}

fn asked(
    thresholds: &[&str],
    fail_on: Option<FailOn>,
    save: Save,
    rounds: usize,
    trials: &[Ran],
) -> Check {
    cut_short(thresholds, fail_on, save, rounds, trials, None)
}

fn cut_short(
    thresholds: &[&str],
    fail_on: Option<FailOn>,
    save: Save,
    rounds: usize,
    trials: &[Ran],
    by: Option<&str>,
) -> Check {
    let thresholds: Vec<Threshold> =
        thresholds.iter().map(|text| text.parse().expect("a threshold")).collect();
    let thresholds = &thresholds;
    let asked = Asked { thresholds, fail_on, baseline: None, save, rounds, attempts: 3 };
    let arm = ArmSpec { name: "check".to_owned(), args: vec!["--reuseport".to_owned()] };
    Check::of(asked, arm, "runs/x-check".into(), trials, by.map(str::to_owned))
}

fn gate(thresholds: &[&str], trials: &[Ran]) -> (Gate, u8) {
    let check = check(thresholds, Save::No, 1, trials);
    (check.outcome, check.exit_code)
}

#[test]
fn the_exit_code_says_what_became_of_the_gate() {
    let untried = Run::loaded(&[(79, FetchOutcome::Ok, 20_000), (1, FetchOutcome::LocalError, 90)]);
    let all = &["failed_share<=0.01", "p99<100ms"][..];
    for (what, thresholds, trials, expected) in [
        ("good", all, vec![good()], (Gate::Passed, 0)),
        ("starved", all, vec![starved()], (Gate::Breached, 10)),
        ("nothing proven", all, vec![dead(), dead(), dead()], (Gate::Inconclusive, 11)),
        ("nothing run", all, vec![], (Gate::Inconclusive, 11)),
        ("the second attempt tells", all, vec![dead(), good()], (Gate::Passed, 0)),
        // The cap was 1 s: what took that long may have taken longer.
        ("not known", &["p99<5s"], vec![starved()], (Gate::Inconclusive, 11)),
        ("another breached", &["p99<5s", "p50<1ms"], vec![starved()], (Gate::Breached, 10)),
        (
            "what this host could not try is no failure",
            &["failed_share<=0", "failed<=0"],
            vec![ran(&untried)],
            (Gate::Passed, 0),
        ),
    ] {
        assert_eq!(gate(thresholds, &trials), expected, "{what}");
    }
    let reasons = check(&["p99<5s", "p50<1ms"], Save::No, 1, &[starved()]).reasons;
    assert!(reasons[0].starts_with("p50<1ms breached"), "{reasons:?}");
    assert!(reasons[1].starts_with("p99<5s cannot be told"), "{reasons:?}");
}

#[test]
fn a_proxy_that_dies_breaches_every_gate() {
    let down = || spoilt(Side::Proxy);
    for trials in [vec![down()], vec![down(), down(), good()], vec![good(), down()]] {
        let check = check(&["p99<100ms"], Save::Wanted, 3, &trials);
        assert_eq!((check.outcome, check.exit_code), (Gate::Breached, 10));
        let why = &check.reasons[0];
        assert!(why.starts_with("the proxy failed in trial ") && why.contains("ended"), "{why}");
    }
    for side in [Side::Origin, Side::Slow, Side::Fast, Side::Host] {
        let check = check(&["p99<100ms"], Save::No, 1, &[spoilt(side), good()]);
        assert_eq!((check.outcome, check.word()), (Gate::Passed, "passed (flaky)"), "{side:?}");
    }
}

#[test]
fn a_verdict_may_be_the_gate() {
    use FailOn::{Degraded, Starved};
    let slow = || tests::ran(0, 300_000);
    for (fail_on, trials, code, found) in [
        (Starved, vec![good()], 0, "healthy"),
        (Starved, vec![starved()], 10, "starved"),
        (Starved, vec![dead()], 11, "no conclusive run"),
        (Degraded, vec![slow()], 10, "degraded"),
        (Degraded, vec![starved()], 10, "starved"),
        // One round in three is enough; one that is not known is not.
        (Starved, vec![good(), starved(), good()], 10, "starved"),
        (Starved, vec![good(), dead(), good()], 0, "healthy"),
        (Starved, vec![good(), dead(), dead()], 11, "no conclusive run"),
    ] {
        let check = asked(&[], Some(fail_on), Save::No, trials.len(), &trials);
        let verdicts: Vec<_> = trials.iter().map(|ran| ran.summary.verdict.name()).collect();
        assert_eq!(check.exit_code, code, "{fail_on:?} {verdicts:?}");
        assert_eq!(check.thresholds[0].found, found, "{fail_on:?} {verdicts:?}");
    }
}

#[test]
fn a_baseline_is_made_of_enough_good_rounds_only() {
    let five: Vec<_> = (0..5).map(|_| good()).collect();
    assert_eq!(check(&[], Save::Wanted, 5, &five).outcome, Gate::Passed);
    let few = check(&[], Save::Wanted, 5, &five[..2]);
    assert_eq!(few.outcome, Gate::Inconclusive);
    assert!(few.reasons[0].contains("no baseline was saved"), "{:?}", few.reasons);
    assert_eq!(check(&["p99<1ms"], Save::Wanted, 5, &five).outcome, Gate::Breached);
}

#[test]
fn what_was_cut_short_is_no_pass() {
    let cut = cut_short(&["p99<100ms"], None, Save::No, 1, &[good()], Some("SIGTERM"));
    assert_eq!(cut.outcome, Gate::Inconclusive);
}

#[test]
fn attempts_that_died_are_told_of_a_check_that_passed() {
    let check = |trials: &[Ran]| check(&["p99<100ms"], Save::No, 1, trials);
    let passed = check(&[dead(), dead(), good()]);
    assert_eq!((passed.outcome, passed.exit_code), (Gate::Passed, 0));
    assert_eq!((passed.word(), passed.rounds.retried), ("passed (flaky)", 2));
    assert_eq!(passed.reasons[0], "everything held");
    let told = &passed.reasons[1];
    assert!(told.starts_with("2 of 3 trials are inconclusive; trial 2: "), "{told}");
    assert!(told.contains("ended unasked"), "{told}");
    let at_once = check(&[good()]);
    assert_eq!(at_once.reasons, ["everything held"]);
    assert_eq!((at_once.word(), at_once.rounds.retried), ("passed", 0));
}

#[test]
fn every_kind_of_reason_is_told_once() {
    let few = |fetches| ran(&Run::loaded(&[(fetches, FetchOutcome::Ok, 20_000)]));
    let trials = [few(3), dead(), few(4), good()];
    let reasons = check(&["p99<100ms"], Save::No, 1, &trials).reasons;
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    assert!(
        reasons[1].starts_with("2 of 4 trials are inconclusive; trial 3: only 4"),
        "{reasons:?}"
    );
    assert!(reasons[2].starts_with("trial 2 of 4 is inconclusive: "), "{reasons:?}");
}

#[test]
fn what_could_not_be_written_is_an_error_unless_something_is_breached() {
    let of = |trials: &[Ran]| {
        let mut check = check(&["p99<100ms"], Save::No, 1, trials);
        check.could_not_write("failed to write the JUnit report to x".to_owned());
        (check.outcome, check.exit_code)
    };
    assert_eq!(of(&[good()]), (Gate::Passed, 1));
    assert_eq!(of(&[dead()]), (Gate::Inconclusive, 1));
    assert_eq!(of(&[starved()]), (Gate::Breached, 10));
}
