//! Figures, thresholds and comparisons of trials.

use proptest::prelude::{any, proptest};
use records::{Micros, Outcome, Summary, Verdict, Visibility};
use stats::Reading;

use super::figures::{FIGURES, Figure, trial};
use super::rounds::{OverRounds, Ran};
use super::threshold::Threshold;
use super::{Comparison, Gate, arm_row};
use crate::summarise;
use testkit::fixture::Run;

/// A trial of which so many fetches were given up, and the others took `us`.
pub(super) fn ran(failed: u64, us: u64) -> Ran {
    of(&Run::loaded(&[(80 - failed, Outcome::Ok, us), (failed, Outcome::TimeoutNoByte, 1_000_500)]))
}

/// The trial of a run.
pub(super) fn of(run: &Run) -> Ran {
    let dir = "trials/01-1-check/x".into();
    Ran::of(dir, 0, summarise(&run.records), run.records.clone())
}

fn exact(value: f64) -> Option<Reading> {
    Some(Reading::Exact(value))
}

fn at_least(value: f64) -> Option<Reading> {
    Some(Reading::AtLeast(value))
}

fn value(summary: &Summary, name: &str) -> Option<Reading> {
    Figure::find(name).expect("a figure").of(summary)
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

/// A percentile that failures reach into was not done within the cap, however soon they failed.
#[test]
fn figures_of_a_trial() {
    let given_up: &[_] = &[(60, Outcome::Ok, 20_000), (20, Outcome::TimeoutNoByte, 1_000_500)];
    let fast: &[_] = &[(70, Outcome::Ok, 20_000), (10, Outcome::BadStatus, 300)];
    // The 72nd of all ages is one of the 10 ms; of those that were done the 72nd took 200 ms.
    let few: &[_] =
        &[(70, Outcome::Ok, 10_000), (6, Outcome::Ok, 200_000), (4, Outcome::Reset, 300)];
    for (fetches, name, expected) in [
        (given_up, "p50", exact(20_000.0)),
        (given_up, "p90", at_least(1_000_500.0)),
        (given_up, "failed_share", exact(0.25)),
        (given_up, "early_closes", exact(20.0)),
        (fast, "p50", exact(20_000.0)),
        (fast, "p90", at_least(1e6)),
        (fast, "p99", at_least(1e6)),
        (fast, "max", at_least(1e6)),
        (few, "p90", exact(200_000.0)),
        (&[(80, Outcome::Refused, 300)], "p50", at_least(1e6)),
        (&[(80, Outcome::Reset, 300)], "p50", at_least(1e6)),
        (&[(80, Outcome::ClosedEarly, 300)], "p50", at_least(1e6)),
        // The verdict says the same: "p50 under load is over the 1.000 s cap".
        (&[(30, Outcome::Ok, 6_000), (50, Outcome::Refused, 90)], "p50", at_least(1e6)),
    ] {
        let found = value(&of(&Run::loaded(fetches)).summary, name);
        let near = found.zip(expected).is_some_and(|(found, expected)| {
            let off = (found.value() - expected.value()).abs();
            // Three digits of a histogram.
            found.is_bound() == expected.is_bound() && off <= 0.002 * expected.value()
        });
        assert!(near, "{name} of {fetches:?}: {found:?}");
    }
}

#[test]
fn what_a_run_does_not_know_is_not_there() {
    let idle = of(&Run::good()).summary;
    for name in ["p99", "failed_share", "slow_bytes_per_sec", "cpu_per_gb"] {
        assert_eq!(value(&idle, name), None, "{name}");
    }
    let of_idle = trial(&idle);
    assert!(
        of_idle.inconclusive.is_some() && of_idle.readings.contains_key("idle_p50"),
        "nothing was measured"
    );
    // As a trace of a proxy without a log tells of its sessions: they have no status.
    let mut run = Run::loaded(&[(78, Outcome::Ok, 20_000), (2, Outcome::TimeoutNoByte, 1_000_400)]);
    run.records.sessions.iter_mut().for_each(|session| session.status = 0);
    run.records.manifest.visibility = Visibility::Traced;
    assert_eq!(value(&of(&run).summary, "early_closes"), None);
    run.records.sessions.clear();
    run.records.accepted.clear();
    run.records.manifest.visibility = Visibility::ClientsOnly;
    assert!(!trial(&of(&run).summary).readings.contains_key("early_closes"));
}

#[test]
fn thresholds_of_one_trial() {
    let resets: &[_] = &[(78, Outcome::Ok, 20_000), (2, Outcome::Reset, 20_000)];
    let capped: &[_] = &[(80, Outcome::TimeoutNoByte, 1_000_300)];
    let refuses: &[_] = &[(20, Outcome::Ok, 20_000), (60, Outcome::BadStatus, 400)];
    for (fetches, threshold, gate, found) in [
        (resets, "p90<100ms", Gate::Passed, "20.0 ms"),
        (resets, "p90 < 20ms", Gate::Breached, "20.0 ms"),
        (resets, "failed_share<=0.01", Gate::Breached, "0.0250"),
        (resets, "failed_share<=2.5%", Gate::Passed, "0.0250"),
        (resets, "p90/idle_p90<5", Gate::Passed, "4"),
        (resets, "slow_bytes_per_sec>300MB/s", Gate::Breached, ""),
        (resets, "failed<=2", Gate::Passed, "2"),
        // A lower bound breaches what it can, and meets nothing above.
        (capped, "p50<100ms", Gate::Breached, ">= 1.000 s"),
        (capped, "p50<5s", Gate::Inconclusive, ">= 1.000 s"),
        (capped, "p50>500ms", Gate::Passed, ">= 1.000 s"),
        (capped, "p50>5s", Gate::Inconclusive, ">= 1.000 s"),
        // A proxy that refuses at once meets no upper limit.
        (refuses, "p99<100ms", Gate::Breached, ">= 1.000 s"),
        (refuses, "p50/idle_p50<5", Gate::Breached, ">= 200"),
        (refuses, "p99<5s", Gate::Inconclusive, ">= 1.000 s"),
        // What is not known is not met.
        (&[], "p99<1s", Gate::Inconclusive, "not known of this run"),
        (&[], "p99>1ms", Gate::Inconclusive, "not known of this run"),
    ] {
        let parsed: Threshold = threshold.parse().expect("a threshold");
        let held = parsed.hold(&of(&Run::loaded(fetches)).summary);
        assert_eq!(held.outcome, gate, "{threshold} of {fetches:?}: {}", held.found);
        assert!(held.found.starts_with(found), "{threshold} of {fetches:?}: {}", held.found);
    }
}

#[test]
fn what_is_no_threshold_says_how_to_write_one() {
    for (text, says) in [
        ("p99", "write it as p99<100ms"),
        ("p98<1ms", "p50, p90, p99"),
        ("p99<100", "a time, as 100ms"),
        ("p99<100parsecs", "a time"),
        ("failed_share<1ms", "a share"),
        ("failed_share<101%", "a share"),
        // A bare number would be bytes.
        ("slow_bytes_per_sec>300", "300MB/s"),
        ("p99/failed_share<5", "different units"),
        ("p99/nothing<5", "no figure"),
    ] {
        let error = text.parse::<Threshold>().expect_err(text);
        assert!(error.contains(says), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = text.parse::<Threshold>();
    }
}

fn over(threshold: &str, trials: &[Ran], wanted: usize) -> OverRounds {
    let threshold: Threshold = threshold.parse().expect("a threshold");
    OverRounds::of(&threshold, &trials.iter().collect::<Vec<_>>(), wanted)
}

/// More than half must hold; what proves nothing is neither met nor breached.
#[test]
fn thresholds_over_rounds() {
    for (what, threshold, ms, wanted, gate, found) in [
        ("one good", "p50<100ms", &[20][..], 1, Gate::Passed, "20.0 ms"),
        ("one bad", "p50<100ms", &[300], 1, Gate::Breached, "300 ms"),
        ("half is not enough", "p50<100ms", &[20, 300], 2, Gate::Breached, "300 ms"),
        ("two of three", "p50<100ms", &[20, 300, 20], 3, Gate::Passed, "20.0 ms"),
        ("one of three", "p50<100ms", &[20, 300, 300], 3, Gate::Breached, "300 ms"),
        ("the middle one is shown", "p50<100ms", &[20, 60, 40], 3, Gate::Passed, "40.0 ms"),
        ("the worse of two is shown", "p50<100ms", &[20, 60], 2, Gate::Passed, "60.0 ms"),
        ("which may be the lower", "p50>10ms", &[20, 60], 2, Gate::Passed, "20.0 ms"),
        ("none at all", "p50<100ms", &[], 1, Gate::Inconclusive, "no conclusive run"),
        ("two of five good", "p50<100ms", &[20, 20], 5, Gate::Inconclusive, "no conclusive run"),
        ("three of five good", "p50<100ms", &[20, 20, 20], 5, Gate::Passed, "20.0 ms"),
        ("four might have met it", "p50<100ms", &[300], 5, Gate::Inconclusive, ""),
        ("three might", "longest_step<1ms", &[300, 300], 5, Gate::Inconclusive, ""),
        ("by all fetches there are", "p50<100ms", &[300, 300], 5, Gate::Breached, "300 ms"),
        ("two of three bad", "p50<100ms", &[300, 300], 3, Gate::Breached, "300 ms"),
        ("two of four are not half", "p50<100ms", &[300, 300], 4, Gate::Breached, "300 ms"),
    ] {
        let trials: Vec<Ran> = ms.iter().map(|ms: &u64| ran(0, ms * 1_000)).collect();
        let held = over(threshold, &trials, wanted).decided;
        assert_eq!(held.outcome, gate, "{what}: {held:?}");
        assert!(held.found.starts_with(found), "{what}: {held:?}");
    }
}

/// A round of three in which everything fails: of all 240 fetches 80 were never done, so were neither
/// 90 nor 99 of 100.
#[test]
fn what_is_of_fetches_must_hold_of_all_rounds_together_too() {
    let trials = [ran(0, 20_000), ran(0, 20_000), ran(80, 20_000)];
    for (threshold, gate, found) in [
        ("failed_share<=0.01", Gate::Breached, "0.3333"),
        ("p50<100ms", Gate::Passed, "20.0 ms"),
        ("p90<100ms", Gate::Breached, ">= 1.000 s"),
        ("p99<100ms", Gate::Breached, ">= 1.000 s"),
    ] {
        let OverRounds { decided, met, breached, .. } = over(threshold, &trials, 3);
        assert_eq!((decided.outcome, met, breached), (gate, 2, 1), "{threshold}");
        assert_eq!(decided.found, found, "{threshold}");
    }
    assert_eq!(over("p99/idle_p99<5", &trials, 3).decided.outcome, Gate::Breached);
    // A number of fetches grows with the rounds.
    assert_eq!(over("failed<=10", &trials, 3).pooled, None);
    let one = over("failed_share<=0.01", &trials[..1], 1);
    assert_eq!((one.decided.outcome, one.pooled), (Gate::Passed, None));
}

/// An arm of `count` trials of which a share fails, a little different each.
fn arm(name: &str, count: u32, failed: u64, us: u64) -> (String, Vec<Ran>) {
    let of_round = |round: u32| {
        let failed = failed + u64::from(round % 2) * u64::from(failed > 0);
        Ran { round, ..ran(failed, us + 500 * u64::from(round % 3)) }
    };
    (name.to_owned(), (0..count).map(of_round).collect())
}

/// Of each row of arms: the gate, and of each pair what changed, over how many rounds, and what is no pass.
#[test]
fn arms_against_the_first() {
    let (sick, cured) = (arm("drain", 5, 40, 400_000), arm("fionread", 5, 0, 80_000));
    let (six, few) = (arm("six", 6, 0, 80_000), arm("few", 1, 0, 80_000));
    let mut dies = arm("dies", 6, 0, 80_000);
    dies.1[3].proxy_fault = Some("the proxy role ended unasked".to_owned());
    let rows = [
        ("a cure", vec![&sick, &cured]),
        ("the disease", vec![&cured, &sick]),
        ("twice the same", vec![&cured, &cured]),
        ("too few", vec![&cured, &few]),
        ("the worst pair decides", vec![&cured, &few, &sick]),
        ("one whose proxy dies", vec![&six, &dies]),
        // What is compared against is not what the gate is about.
        ("against it", vec![&dies, &six]),
        ("rounds that only one has do not count", vec![&six, &few]),
        ("nobody", vec![]),
    ];
    let row = |(what, arms): (&str, Vec<&(String, Vec<Ran>)>)| {
        let comparison = Comparison::of(&arms.into_iter().cloned().collect::<Vec<_>>());
        let pairs = comparison.pairs.iter().map(|pair| {
            let (of, doubts) = (&pair.judgement, pair.doubts().join("; "));
            format!(" | {}: {} in {} rounds: {doubts}", pair.b, of.change, of.rounds)
        });
        format!("{what}: {:?}{}\n", comparison.gate(), pairs.collect::<String>())
    };
    insta::assert_snapshot!(rows.map(row).concat());
}

#[test]
fn a_row_counts_over_all_trials_and_takes_the_middle_run() {
    let trials = [ran(0, 10_000), ran(40, 20_000), ran(4, 30_000)].map(|ran| ran.summary);
    let row = arm_row("drain", &trials.iter().collect::<Vec<_>>());
    assert_eq!((row.trials, row.attempts, row.tried, row.failed), (3, 240, 240, 44));
    assert_eq!(row.verdicts.values().sum::<u64>(), 3);
    assert_eq!(row.verdicts[&Verdict::Starved], 2);
    let [_, middle, _] = &trials;
    assert_eq!(row.p50, Micros(middle.measure.latency_us.p50));
    assert!(row.max >= Micros(1_000_000), "{row:?}");
    assert_eq!(row.cpu_per_gb, None);
    let none = arm_row("none", &[]);
    assert_eq!((none.trials, none.p50, none.longest_step), (0, Micros(0), None));
}

#[test]
fn early_closes_are_those_of_logs() {
    let (logged, mut unlogged) = (ran(4, 10_000).summary, ran(40, 10_000).summary);
    unlogged.proxy = records::ProxySummary::default();
    for (trials, closes) in [
        (vec![&logged, &logged], Some(8)),
        (vec![&unlogged], None),
        (vec![&logged, &unlogged], Some(4)),
    ] {
        assert_eq!(arm_row("arm", &trials).early_closes, closes);
    }
}
