use records::{Outcome, Verdict};

use super::{FIGURES, Figure, Known, trial};
use crate::fixture::Run;
use crate::summarise::summarise;

fn value(run: &Run, name: &str) -> Option<Known> {
    Figure::find(name).expect("a figure").of(&summarise(&run.records))
}

#[test]
fn names_are_unique_and_those_of_the_standard_metrics_are_there() {
    for (at, figure) in FIGURES.iter().enumerate() {
        assert!(FIGURES.iter().skip(at + 1).all(|other| other.name != figure.name));
    }
    for metric in stats::Metric::of_a_trial() {
        assert!(Figure::find(metric.name()).is_some(), "{}", metric.name());
    }
}

#[test]
fn a_percentile_at_the_cap_is_a_lower_bound() {
    let run = Run::loaded(&[(60, Outcome::Ok, 20_000), (30, Outcome::TimeoutNoByte, 1_000_400)]);
    assert!(matches!(value(&run, "p50"), Some(Known::Exactly(us)) if us < 21_000.0));
    assert!(matches!(value(&run, "p90"), Some(Known::AtLeast(us)) if us > 990_000.0));
    assert!(
        matches!(value(&run, "failed_share"), Some(Known::Exactly(s)) if (0.3..0.4).contains(&s))
    );
}

#[test]
fn what_a_run_does_not_know_is_not_there() {
    let run = Run::good();
    for name in ["p99", "failed_share", "slow_bytes_per_sec", "cpu_per_gb"] {
        assert_eq!(value(&run, name), None, "{name}");
    }
    let trial = trial(&summarise(&run.records));
    assert!(trial.inconclusive.is_some(), "nothing was measured");
    assert!(trial.control.is_some());
}

#[test]
fn an_inconclusive_run_says_why() {
    let mut run = Run::loaded(&[(80, Outcome::Ok, 20_000)]);
    assert_eq!(trial(&summarise(&run.records)).inconclusive, None);
    run.fault(records::Side::Proxy, "the proxy role ended unasked");
    let summary = summarise(&run.records);
    assert_eq!(summary.verdict, Verdict::Inconclusive);
    assert!(trial(&summary).inconclusive.unwrap().contains("ended unasked"));
}
