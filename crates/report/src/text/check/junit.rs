//! JUnit: a test case for each threshold and for each metric of a baseline.
//!
//! A breach is a failure; what cannot be told is an error, since CI systems take `skipped` for green.

use crate::escape::html as escaped;
use records::Verdict;
use stats::Change;

use analysis::guard::baseline::Against;
use analysis::guard::{Check, Gate};

/// The document, in the elements that all readers of JUnit's format know.
pub fn junit(check: &Check) -> String {
    let mut cases = Vec::new();
    for held in &check.thresholds {
        let said = format!("found {}", held.found);
        cases.push(case("threshold", &held.threshold, &status(held.outcome, &said)));
    }
    if let Some(against) = &check.baseline {
        cases.extend(metrics(against));
    }
    for fault in check.trials.iter().filter_map(|trial| trial.proxy_fault.as_ref()) {
        cases.push(case("check", "the proxy stays up", &status(Gate::Breached, fault)));
    }
    // A check of which nothing is known, that was to save a baseline only, or that could not.
    let gates = check.thresholds.len() + usize::from(check.baseline.is_some());
    if gates == 0 || check.interrupted.is_some() || !check.errors.is_empty() {
        let whole = check.outcome == Gate::Passed && check.errors.is_empty();
        let outcome = if whole { Gate::Passed } else { Gate::Inconclusive };
        let said: Vec<&str> =
            check.reasons.iter().chain(&check.errors).map(String::as_str).collect();
        cases.push(case("check", "whole", &status(outcome, &said.join("; "))));
    }
    let reruns = flaky(check);
    for case in &mut cases {
        *case = case.replace("</testcase>", &format!("{reruns}</testcase>"));
    }
    let said = escaped(&format!("{}\n{}", check.reasons.join("\n"), check.records.display()));
    let with = |tag: &str| cases.iter().filter(|case| case.contains(tag)).count();
    let counts = format!(
        r#"tests="{}" failures="{}" errors="{}""#,
        cases.len(),
        with("<failure "),
        with("<error ")
    );
    let (suite, cases) = (format!(r#"name="turnstile check" {counts}"#), cases.concat());
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites {suite}>
  <testsuite {suite}>
{cases}    <system-out>{said}</system-out>
  </testsuite>
</testsuites>
"#
    )
}

/// What marks the cases of a check that passed only after trials that proved nothing, in the words that
/// CI systems know; nothing for any other check.
fn flaky(check: &Check) -> String {
    let tried = check.trials.iter().filter(|trial| trial.verdict == Verdict::Inconclusive);
    let mark =
        |said: &str| format!(r#"<flakyError type="inconclusive" message="{}"/>"#, escaped(said));
    if check.is_flaky() { tried.map(|trial| mark(&trial.reason)).collect() } else { String::new() }
}

/// The judgement as a whole, then each metric; one without a say is skipped where the others can be
/// relied on.
fn metrics(against: &Against) -> Vec<String> {
    let whole = status(against.outcome, &against.reasons().join("; "));
    let of_metric = against.judgement.comparisons.iter().map(|metric| {
        let name = metric.metric.name;
        let said = format!("{name} {}", metric.finding.text());
        let status = match (against.change(), metric.change()) {
            _ if metric.is_unknown() => status(Gate::Inconclusive, &said),
            (Change::Inconclusive, _) => status(Gate::Inconclusive, &said),
            (_, Change::Regressed) => status(Gate::Breached, &said),
            (_, Change::NoChange | Change::Improved) => status(Gate::Passed, &said),
            (_, Change::Inconclusive) => format!(r#"<skipped message="{}"/>"#, escaped(&said)),
        };
        case("baseline", name, &status)
    });
    std::iter::once(case("baseline", "no regression", &whole)).chain(of_metric).collect()
}

fn case(class: &str, name: &str, status: &str) -> String {
    let name = escaped(name);
    format!("    <testcase name=\"{name}\" classname=\"turnstile.{class}\">{status}</testcase>\n")
}

/// What a test case holds: nothing if it passed.
fn status(outcome: Gate, said: &str) -> String {
    let (tag, word) = match outcome {
        Gate::Passed => return String::new(),
        Gate::Breached => ("failure", "breached"),
        Gate::Inconclusive => ("error", "inconclusive"),
    };
    format!(r#"<{tag} type="{word}" message="{}"/>"#, escaped(said))
}
