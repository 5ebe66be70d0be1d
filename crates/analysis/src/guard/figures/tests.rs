use records::{Outcome, Verdict};

use super::{FIGURES, Figure, Known, trial};
use crate::summarise;
use testkit::fixture::Run;

fn value(run: &Run, name: &str) -> Option<Known> {
    Figure::find(name).expect("a figure").of(&summarise(&run.records))
}

#[test]
fn names_are_unique_and_those_of_the_standard_metrics_are_there() {
    for (at, figure) in FIGURES.iter().enumerate() {
        assert!(FIGURES.iter().skip(at + 1).all(|other| other.name != figure.name));
    }
    for metric in stats::Metric::OF_A_TRIAL {
        assert!(Figure::find(metric.name).is_some(), "{}", metric.name);
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
fn a_proxy_that_fails_fast_is_not_fast() {
    for outcome in [Outcome::BadStatus, Outcome::Reset, Outcome::Refused, Outcome::ClosedEarly] {
        let run = Run::loaded(&[(70, Outcome::Ok, 20_000), (10, outcome, 300)]);
        // 70 of 80 were done: more than half, and fewer than 90 of 100.
        let half = value(&run, "p50");
        assert!(matches!(half, Some(Known::Exactly(us)) if us > 19_000.0), "{outcome}: {half:?}");
        for name in ["p90", "p99", "max"] {
            assert_eq!(value(&run, name), Some(Known::AtLeast(1e6)), "{outcome}: {name}");
        }
        let all = Run::loaded(&[(80, outcome, 300)]);
        assert_eq!(value(&all, "p50"), Some(Known::AtLeast(1e6)), "{outcome}");
    }
}

#[test]
fn those_that_failed_fast_make_the_others_no_faster() {
    // The 72nd of all ages is one of the 10 ms; of those that were done the 72nd took 200 ms.
    let run = Run::loaded(&[
        (70, Outcome::Ok, 10_000),
        (6, Outcome::Ok, 200_000),
        (4, Outcome::Reset, 300),
    ]);
    let summary = summarise(&run.records);
    assert!(summary.measure.latency_us.p90 < 11_000, "{:?}", summary.measure.latency_us);
    let p90 = Figure::find("p90").expect("a figure").of(&summary);
    assert!(matches!(p90, Some(Known::Exactly(us)) if us > 199_000.0), "{p90:?}");
}

#[test]
fn a_summary_of_an_earlier_build_gives_a_bound_where_fetches_failed_fast() {
    let of = |outcomes: &[(u64, Outcome, u64)]| {
        let mut summary = summarise(&Run::loaded(outcomes).records);
        summary.measure.completion_us = None;
        Figure::find("p50").expect("a figure").of(&summary)
    };
    let fast = of(&[(70, Outcome::Ok, 20_000), (10, Outcome::Reset, 300)]);
    assert!(matches!(fast, Some(Known::AtLeast(us)) if us < 21_000.0), "{fast:?}");
    let slow = of(&[(70, Outcome::Ok, 20_000), (10, Outcome::TimeoutNoByte, 1_000_400)]);
    assert!(matches!(slow, Some(Known::Exactly(us)) if us < 21_000.0), "{slow:?}");
}

#[test]
fn early_closes_are_not_known_where_no_log_tells_of_fetches() {
    let mut run = Run::loaded(&[(78, Outcome::Ok, 20_000), (2, Outcome::TimeoutNoByte, 1_000_400)]);
    assert_eq!(value(&run, "early_closes"), Some(Known::Exactly(2.0)));
    // As a trace of a proxy without a log tells of its sessions: they have no status.
    for session in &mut run.records.sessions {
        session.status = 0;
    }
    run.records.manifest.visibility = records::Visibility::Traced;
    assert_eq!(value(&run, "early_closes"), None);
    run.records.sessions.clear();
    run.records.accepted.clear();
    run.records.manifest.visibility = records::Visibility::ClientsOnly;
    assert_eq!(value(&run, "early_closes"), None);
    assert!(!trial(&summarise(&run.records)).readings.contains_key("early_closes"));
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

/// A fetch that failed was not done within the cap, however soon it failed: the verdict says so too.
#[test]
fn verdict_and_gate_use_the_same_percentiles() {
    let run = Run::loaded(&[(30, Outcome::Ok, 6_000), (50, Outcome::Refused, 90)]);
    let summary = summarise(&run.records);
    assert!(summary.verdict_reasons[1].starts_with("p50 under load is over the 1.000 s cap"));
    let p50 = Figure::find("p50").and_then(|figure| figure.of(&summary));
    assert_eq!(p50, Some(Known::AtLeast(1e6)));
}
