//! JUnit: a test case for each threshold and for each metric of a baseline.
//!
//! A breach is a failure; what cannot be told is an error, since CI systems take `skipped` for green.

use quick_junit::{
    NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestRerun, TestSuite,
};
use records::Verdict;
use stats::Change;

use crate::guard::baseline::Against;
use crate::guard::threshold::Outcome;
use crate::guard::{Check, Gate};

/// The document.
///
/// # Errors
/// It cannot be written as XML.
pub fn junit(check: &Check) -> Result<String, SerializeError> {
    let mut suite = TestSuite::new("turnstile check");
    for held in &check.thresholds {
        let said = format!("found {}", held.found);
        suite.add_test_case(case("threshold", &held.threshold, status(held.outcome, &said)));
    }
    if let Some(against) = &check.baseline {
        suite.add_test_cases(metrics(against));
    }
    for fault in check.trials.iter().filter_map(|trial| trial.proxy_fault.as_ref()) {
        suite.add_test_case(case("check", "the proxy stays up", status(Outcome::Breached, fault)));
    }
    // A check of which nothing is known, that was to save a baseline only, or that could not.
    let gates = check.thresholds.len() + usize::from(check.baseline.is_some());
    if gates == 0 || check.interrupted.is_some() || !check.errors.is_empty() {
        let whole = check.outcome == Gate::Passed && check.errors.is_empty();
        let outcome = if whole { Outcome::Met } else { Outcome::Unknown };
        let said: Vec<&str> =
            check.reasons.iter().chain(&check.errors).map(String::as_str).collect();
        suite.add_test_case(case("check", "whole", status(outcome, &said.join("; "))));
    }
    if check.is_flaky() {
        suite.test_cases.iter_mut().for_each(|case| flaky(case, check));
    }
    suite.set_system_out(format!("{}\n{}", check.reasons.join("\n"), check.records.display()));
    let mut report = Report::new("turnstile check");
    report.add_test_suite(suite);
    report.to_string()
}

/// Marks a case that passed only after trials that proved nothing, in the words that CI systems know:
/// `flakyError`.
fn flaky(case: &mut TestCase, check: &Check) {
    for trial in check.trials.iter().filter(|trial| trial.verdict == Verdict::Inconclusive) {
        let mut rerun = TestRerun::new(NonSuccessKind::Error);
        rerun.set_type("inconclusive").set_message(trial.reason.as_str());
        case.status.add_rerun(rerun);
    }
}

/// The judgement as a whole, then each metric; one without a say is skipped where the others can be
/// relied on.
fn metrics(against: &Against) -> Vec<TestCase> {
    let whole = status(against.outcome, &against.reasons().join("; "));
    let of_metric = against.judgement.comparisons.iter().map(|metric| {
        let name = metric.metric.name();
        let said = format!("{name} {}", metric.finding.text());
        let status = match (against.change(), metric.change()) {
            _ if metric.is_unknown() => status(Outcome::Unknown, &said),
            (Change::Inconclusive, _) => status(Outcome::Unknown, &said),
            (_, Change::Regressed) => status(Outcome::Breached, &said),
            (_, Change::NoChange | Change::Improved) => status(Outcome::Met, &said),
            (_, Change::Inconclusive) => {
                let mut skipped = TestCaseStatus::skipped();
                skipped.set_message(said);
                skipped
            }
        };
        case("baseline", name, status)
    });
    std::iter::once(case("baseline", "no regression", whole)).chain(of_metric).collect()
}

fn case(class: &str, name: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(name, status);
    case.set_classname(format!("turnstile.{class}"));
    case
}

fn status(outcome: Outcome, said: &str) -> TestCaseStatus {
    let (kind, word) = match outcome {
        Outcome::Met => return TestCaseStatus::success(),
        Outcome::Breached => (NonSuccessKind::Failure, "breached"),
        Outcome::Unknown => (NonSuccessKind::Error, "inconclusive"),
    };
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(word).set_message(said);
    status
}
