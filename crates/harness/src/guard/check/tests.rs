use std::path::PathBuf;

use records::{Outcome as FetchOutcome, Side, Summary};

use super::{Asked, Check, Save};
use crate::campaign::ArmSpec;
use crate::fixture::Run;
use crate::guard::{Gate, Threshold};
use crate::summarise::summarise;

fn summary(run: &Run) -> (PathBuf, Summary) {
    ("trials/01-1-check/x".into(), summarise(&run.records))
}

fn good() -> (PathBuf, Summary) {
    summary(&Run::loaded(&[(80, FetchOutcome::Ok, 20_000)]))
}

fn starved() -> (PathBuf, Summary) {
    summary(&Run::loaded(&[
        (40, FetchOutcome::Ok, 20_000),
        (40, FetchOutcome::TimeoutNoByte, 1_000_500),
    ]))
}

fn dead() -> (PathBuf, Summary) {
    let mut run = Run::loaded(&[(80, FetchOutcome::Ok, 20_000)]);
    run.fault(Side::Proxy, "the proxy role ended unasked");
    summary(&run)
}

fn check(thresholds: &[&str], save: Save, rounds: usize, trials: &[(PathBuf, Summary)]) -> Check {
    let thresholds: Vec<Threshold> =
        thresholds.iter().map(|text| text.parse().expect("a threshold")).collect();
    let asked = Asked { thresholds: &thresholds, baseline: None, save, rounds, attempts: 3 };
    let arm = ArmSpec::new("check", "--reuseport").expect("an arm");
    Check::of(asked, arm, "runs/x-check".into(), trials, None)
}

fn gate(thresholds: &[&str], trials: &[(PathBuf, Summary)]) -> (Gate, u8) {
    let check = check(thresholds, Save::No, 1, trials);
    (check.outcome, check.exit_code)
}

#[test]
fn the_exit_code_says_what_became_of_the_gate() {
    let all = ["failed_share<=0.01", "p99<100ms"];
    assert_eq!(gate(&all, &[good()]), (Gate::Passed, 0));
    assert_eq!(gate(&all, &[starved()]), (Gate::Breached, 10));
    assert_eq!(gate(&all, &[dead(), dead(), dead()]), (Gate::Inconclusive, 11));
    assert_eq!(gate(&all, &[]), (Gate::Inconclusive, 11));
    assert_eq!(gate(&all, &[dead(), good()]), (Gate::Passed, 0), "the second attempt tells");
}

#[test]
fn what_is_not_known_is_no_pass_and_no_breach() {
    // The cap was 1 s: what took that long may have taken longer.
    let unknown = "p99<5s";
    assert_eq!(gate(&[unknown], &[starved()]), (Gate::Inconclusive, 11));
    let both = check(&[unknown, "p50<1ms"], Save::No, 1, &[starved()]);
    assert_eq!(both.outcome, Gate::Breached, "another is breached");
    assert!(both.reasons[0].starts_with("p50<1ms breached"), "{:?}", both.reasons);
    assert!(both.reasons[1].starts_with("p99<5s cannot be told"), "{:?}", both.reasons);
}

#[test]
fn a_run_that_proves_nothing_says_why() {
    let check = check(&["p99<100ms"], Save::No, 1, &[dead()]);
    assert!(check.reasons.iter().any(|why| why.contains("ended unasked")), "{:?}", check.reasons);
    assert_eq!(check.rounds.conclusive, 0);
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
    let thresholds = ["p99<100ms".parse().expect("a threshold")];
    let asked =
        Asked { thresholds: &thresholds, baseline: None, save: Save::No, rounds: 1, attempts: 1 };
    let arm = ArmSpec::new("check", "").expect("an arm");
    let cut = Check::of(asked, arm, "runs/x".into(), &[good()], Some("SIGTERM".to_owned()));
    assert_eq!(cut.outcome, Gate::Inconclusive);
}

#[test]
fn attempts_that_died_are_told_of_a_check_that_passed() {
    let check = |trials: &[(PathBuf, Summary)]| check(&["p99<100ms"], Save::No, 1, trials);
    let passed = check(&[dead(), dead(), good()]);
    assert_eq!((passed.outcome, passed.exit_code), (Gate::Passed, 0));
    assert_eq!(passed.reasons[0], "everything held");
    let told = &passed.reasons[1];
    assert!(told.starts_with("2 of 3 trials are inconclusive; trial 2: "), "{told}");
    assert!(told.contains("ended unasked"), "{told}");
    assert_eq!(check(&[good()]).reasons, ["everything held"]);
}

#[test]
fn every_kind_of_reason_is_told_once() {
    let few = |fetches| summary(&Run::loaded(&[(fetches, FetchOutcome::Ok, 20_000)]));
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
    let of = |trials: &[(PathBuf, Summary)]| {
        let mut check = check(&["p99<100ms"], Save::No, 1, trials);
        check.could_not_write("failed to write the JUnit report to x".to_owned());
        (check.outcome, check.exit_code)
    };
    assert_eq!(of(&[good()]), (Gate::Passed, 1));
    assert_eq!(of(&[dead()]), (Gate::Inconclusive, 1));
    assert_eq!(of(&[starved()]), (Gate::Breached, 10));
}
