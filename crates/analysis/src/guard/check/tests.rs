use clap::ValueEnum as _;
use records::{ArmSpec, Outcome as FetchOutcome, Side};

use super::{Asked, Check, Save};
use crate::guard::rounds::{FailOn, Ran};
use crate::guard::tests::{of as ran, ran as trial};
use crate::guard::{Gate, Threshold};
use testkit::fixture::Run;

fn good() -> Ran {
    trial(0, 20_000)
}

fn slow() -> Ran {
    trial(0, 300_000)
}

fn starved() -> Ran {
    trial(40, 20_000)
}

/// So few fetches that they prove nothing.
fn few(fetches: u64) -> Ran {
    ran(&Run::loaded(&[(fetches, FetchOutcome::Ok, 20_000)]))
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

/// One in which the proxy failed as a process.
fn down() -> Ran {
    spoilt(Side::Proxy)
}

/// The check of these trials that was asked for in these words: thresholds; `starved` or `degraded`, from
/// which verdict on it is breached; `save`, a baseline; `x5`, so many rounds; `cut`, by a signal.
fn check(words: &str, trials: &[Ran]) -> Check {
    let words = || words.split_whitespace();
    let is = |named: &str| words().any(|word| word == named);
    let thresholds = words().filter(|word| word.contains(['<', '>']));
    let thresholds: Vec<Threshold> = thresholds.map(|word| word.parse().expect(word)).collect();
    let asked = Asked {
        thresholds: &thresholds,
        fail_on: words().find_map(|word| FailOn::from_str(word, false).ok()),
        baseline: None,
        save: if is("save") { Save::Wanted } else { Save::No },
        rounds: words().find_map(|word| word.strip_prefix('x')?.parse().ok()).unwrap_or(1),
        attempts: 3,
    };
    let arm = ArmSpec { name: "check".to_owned(), args: vec!["--reuseport".to_owned()] };
    let cut = is("cut").then(|| "SIGTERM".to_owned());
    Check::of(asked, arm, "runs/x-check".into(), trials, cut)
}

/// The word of each check, its exit code, what was found of its thresholds, and why.
#[test]
fn the_word_the_exit_code_and_the_reasons() {
    let both = "failed_share<=0.01 p99<100ms";
    let untried = Run::loaded(&[(79, FetchOutcome::Ok, 20_000), (1, FetchOutcome::LocalError, 90)]);
    let five = || vec![good(), good(), good(), good(), good()];
    let rows = [
        ("good", both, vec![good()]),
        ("starved", both, vec![starved()]),
        ("nothing proven", both, vec![dead(), dead(), dead()]),
        ("nothing run", both, vec![]),
        ("the second attempt tells", both, vec![dead(), good()]),
        ("two attempts died", "p99<100ms", vec![dead(), dead(), good()]),
        ("each kind of reason is told once", "p99<100ms", vec![few(3), dead(), few(4), good()]),
        ("what took the cap may have taken longer", "p99<5s", vec![starved()]),
        ("another breached", "p99<5s p50<1ms", vec![starved()]),
        ("what this host could not try", "failed_share<=0 failed<=0", vec![ran(&untried)]),
        // A proxy that dies breaches every gate; nobody else does.
        ("the proxy died", "p99<100ms save x3", vec![down()]),
        ("twice", "p99<100ms save x3", vec![down(), down(), good()]),
        ("the second time", "p99<100ms save x3", vec![good(), down()]),
        ("the downloads died", "p99<100ms", vec![spoilt(Side::Slow), good()]),
        ("the fetches died", "p99<100ms", vec![spoilt(Side::Fast), good()]),
        ("the host failed", "p99<100ms", vec![spoilt(Side::Host), good()]),
        ("by verdict: healthy", "starved", vec![good()]),
        ("by verdict: starved", "starved", vec![starved()]),
        ("by verdict: not known", "starved", vec![dead()]),
        ("by verdict: degraded", "degraded", vec![slow()]),
        ("by verdict: worse than degraded", "degraded", vec![starved()]),
        // One round in three is enough; one that is not known is not.
        ("by verdict: one of three", "starved x3", vec![good(), starved(), good()]),
        ("by verdict: one not known", "starved x3", vec![good(), dead(), good()]),
        ("by verdict: two not known", "starved x3", vec![good(), dead(), dead()]),
        ("a baseline", "save x5", five()),
        ("a baseline of too few rounds", "save x5", vec![good(), good()]),
        ("a baseline of a check that failed", "p99<1ms save x5", five()),
        ("cut short", "p99<100ms cut", vec![good()]),
    ];
    let row = |(what, words, trials): (&str, &str, Vec<Ran>)| {
        let check = check(words, &trials);
        let found: Vec<&str> =
            check.thresholds.iter().map(|over| over.decided.found.as_str()).collect();
        let (word, code, reasons) = (check.word(), check.exit_code, check.reasons.join(" | "));
        format!("{what}: {word}, exit {code}, found {found:?}: {reasons}\n")
    };
    insta::assert_snapshot!(rows.map(row).concat());
}

#[test]
fn what_could_not_be_written_is_an_error_unless_something_is_breached() {
    let of = |trials: &[Ran]| {
        let mut check = check("p99<100ms", trials);
        check.could_not_write("failed to write the JUnit report to x".to_owned());
        (check.outcome, check.exit_code)
    };
    assert_eq!(of(&[good()]), (Gate::Passed, 1));
    assert_eq!(of(&[dead()]), (Gate::Inconclusive, 1));
    assert_eq!(of(&[starved()]), (Gate::Breached, 10));
}
