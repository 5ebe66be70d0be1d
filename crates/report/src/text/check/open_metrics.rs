//! The figures of a check as OpenMetrics text.

use analysis::guard::figures::{FIGURES, Unit};
use analysis::guard::{Check, Gate};

use crate::text::OpenMetrics;

/// The document.
pub fn open_metrics(check: &Check) -> String {
    let mut text = OpenMetrics::default();
    let passed = u8::from(check.outcome == Gate::Passed);
    text.head("turnstile_check_passed", "gauge", None, "1 if everything held");
    text.sample("turnstile_check_passed", &[], passed);
    text.head("turnstile_check_inconclusive", "gauge", None, "1 if it proves nothing");
    let inconclusive = u8::from(check.outcome == Gate::Inconclusive);
    text.sample("turnstile_check_inconclusive", &[], inconclusive);
    text.head("turnstile_check_rounds", "gauge", None, "rounds wanted");
    text.sample("turnstile_check_rounds", &[], check.rounds.wanted);
    text.head("turnstile_check_conclusive_rounds", "gauge", None, "rounds that prove something");
    text.sample("turnstile_check_conclusive_rounds", &[], check.rounds.conclusive);
    text.head("turnstile_check_retried_trials", "gauge", None, "trials that were tried again");
    text.sample("turnstile_check_retried_trials", &[], check.rounds.retried);
    if !check.thresholds.is_empty() {
        let name = "turnstile_threshold_met";
        text.head(name, "gauge", None, "1 if the threshold held; outcome says why not");
        for held in &check.thresholds {
            let labels =
                [("threshold", held.threshold.as_str()), ("outcome", super::word(held.outcome))];
            text.sample(name, &labels, u8::from(held.outcome == Gate::Passed));
        }
    }
    if let Some(against) = &check.baseline {
        let name = "turnstile_baseline_regressed";
        text.head(name, "gauge", None, "1 if the metric regressed against the baseline");
        for metric in &against.judgement.comparisons {
            // Where it is not known whether the whole regressed, no metric did.
            let regressed = metric.change() == stats::Change::Regressed;
            let regressed = u8::from(regressed && against.outcome == Gate::Breached);
            text.sample(name, &[("metric", metric.metric.name)], regressed);
        }
    }
    for figure in &FIGURES {
        let of = |row: &analysis::guard::check::TrialRow| {
            Some((row.trial.to_string(), row.verdict, *row.figures.get(figure.name)?))
        };
        let known: Vec<_> = check.trials.iter().filter_map(of).collect();
        if known.is_empty() {
            continue;
        }
        let (name, unit, scale) = metric(figure.name, figure.unit);
        text.head(&name, "gauge", unit, figure.words);
        for (trial, verdict, reading) in known {
            let bound = if reading.is_bound() { "lower" } else { "exact" };
            let labels = [("trial", trial.as_str()), ("verdict", verdict.name()), ("bound", bound)];
            text.sample(&name, &labels, reading.value() / scale);
        }
    }
    text.finish()
}

/// Its name, its unit, and by what a figure is divided for it.
fn metric(name: &str, unit: Unit) -> (String, Option<&'static str>, f64) {
    match unit {
        Unit::Micros => (format!("turnstile_{name}_seconds"), Some("seconds"), 1e6),
        Unit::Share => (format!("turnstile_{name}_ratio"), Some("ratio"), 1.0),
        Unit::BytesPerSec | Unit::Count => (format!("turnstile_{name}"), None, 1.0),
    }
}
