use std::collections::BTreeSet;

use records::{Bytes, Manifest, Micros, Rcvbuf, Recording, Visibility};
use stats::{Change, Trial};

use super::{Accepted, Against, Baseline, BaselineHost, Conditions, Origin, Today};
use crate::guard::Gate;
use crate::guard::figures;
use crate::guard::tests::ran;
use testkit::fixture::Run;

fn origin() -> Origin {
    let Manifest { host, arm, idle_us, measure_us, hold_us, .. } = Run::new().records.manifest;
    let recording = Recording::Full;
    let conditions = Conditions { recording, allowed_cpus: vec![0, 1], sysctls: host.sysctls };
    let host = BaselineHost { kernel: host.kernel, cpu_model: host.cpu_model, cpus: host.cpus };
    Origin { host, arm, idle_us, measure_us, hold_us, conditions }
}

/// As many trials as were wanted.
fn today(count: u64, failed: u64, us: u64) -> Today {
    let trial = |round| figures::trial(&ran(failed, us + 1_111 * (round % 3)).summary);
    let rounds: Vec<Trial> = (0..count).map(trial).collect();
    Today { wanted: rounds.len(), rounds, sights: BTreeSet::from([Visibility::Own]) }
}

fn baseline() -> Baseline {
    Baseline::new(origin(), None, today(5, 0, 80_000))
}

fn held(today: Today) -> Against {
    baseline().against("base.json".as_ref(), Accepted::Nothing, today)
}

fn against(today: Today) -> (Gate, Change) {
    let against = held(today);
    (against.outcome, against.judgement.change)
}

#[test]
fn what_is_saved_is_read_back_to_the_bit() {
    let baseline = baseline();
    let file = serde_json::to_string(&baseline).expect("JSON");
    assert_eq!(Baseline::read(file.as_bytes()).expect("a baseline"), baseline);
    // Those of earlier builds have the control of a trial beside its readings.
    let mut earlier = serde_json::to_value(&baseline).expect("JSON");
    earlier["rounds"][0]["control"] = serde_json::json!({"exact": 5000.0});
    assert_eq!(Baseline::read(earlier.to_string().as_bytes()).expect("a baseline"), baseline);
}

#[test]
fn what_is_no_baseline_says_so() {
    let json = |baseline: Baseline| serde_json::to_string(&baseline).expect("JSON");
    let whole = json(baseline());
    let summary = serde_json::to_string(&ran(0, 20_000).summary).expect("JSON");
    let later = json(Baseline { schema_version: 99, ..baseline() });
    let mut negative = serde_json::to_value(baseline()).expect("JSON");
    let reading = negative["rounds"][0]["readings"].as_object_mut().expect("readings").values_mut();
    reading.for_each(|reading| *reading = serde_json::json!({"exact": -1.0}));
    let negative = negative.to_string();
    let two = json(Baseline { rounds: today(2, 0, 1).rounds, ..baseline() });
    for (file, says) in [
        (" \n", "is empty"),
        ("{\"schema_version\": 1}", "is no baseline, or torn"),
        ("not JSON", "is no baseline, or torn"),
        (&whole[..whole.len() / 2], "is no baseline, or torn"),
        (&summary, "is no baseline, or torn"),
        (&negative, "is no baseline, or torn"),
        (&later, "has schema 99; this turnstile reads 1"),
        (&two, "has 2 conclusive rounds; 3 are needed"),
    ] {
        let error = Baseline::read(file.as_bytes()).expect_err(file).to_string();
        assert!(error.starts_with(says), "{error}");
    }
}

#[test]
fn another_host_arm_or_condition_is_named() {
    let then = origin();
    assert_eq!(then.differences(&then), Vec::<String>::new());
    let mut now = origin();
    now.host.kernel = "9.9".to_owned();
    now.host.cpus += 1;
    now.arm.proxy.rcvbuf = Rcvbuf::Size(Bytes(40_960));
    now.measure_us = Micros(4_000_000);
    let conditions = &mut now.conditions;
    conditions.recording = Recording::Minimal;
    conditions.allowed_cpus.push(4_711);
    conditions.sysctls.insert("net.ipv4.tcp_rmem".to_owned(), "4096 8192 16384".to_owned());
    insta::assert_snapshot!(then.differences(&now).join("\n"));
}

#[test]
fn today_is_held_against_then() {
    assert_eq!(against(today(5, 0, 80_000)), (Gate::Passed, Change::NoChange));
    assert_eq!(against(today(5, 40, 400_000)), (Gate::Breached, Change::Regressed));
    assert_eq!(against(today(5, 0, 20_000)), (Gate::Passed, Change::Improved));
    assert_eq!(against(today(2, 0, 80_000)).0, Gate::Inconclusive, "too few rounds");
    assert_eq!(against(Today::default()).0, Gate::Inconclusive);
}

/// What the tests of `docs/ci.md` ask of the real proxies.
#[test]
fn three_rounds_tell_all_that_fail_from_none() {
    let then = Baseline::new(origin(), None, today(3, 0, 14_000));
    let worse = then.against("base.json".as_ref(), Accepted::Nothing, today(3, 80, 14_000));
    assert_eq!(worse.outcome, Gate::Breached, "{:?}", worse.reasons());
    assert_eq!(worse.reasons()[0], "failed_share regressed");
    let same = then.against("base.json".as_ref(), Accepted::Nothing, today(3, 0, 15_000));
    assert_eq!(same.outcome, Gate::Passed, "{:?}", same.reasons());
}

#[test]
fn few_rounds_of_many_prove_nothing() {
    for (conclusive, wanted, outcome) in
        [(3, 20, Gate::Inconclusive), (3, 6, Gate::Inconclusive), (3, 5, Gate::Passed)]
    {
        let of = |failed, us| held(Today { wanted, ..today(conclusive, failed, us) });
        let same = of(0, 80_000);
        assert_eq!(same.outcome, outcome, "{conclusive} of {wanted}");
        if outcome == Gate::Inconclusive {
            let said = format!("{conclusive} of {wanted} rounds can be used");
            assert!(same.reasons().join("; ").starts_with(&said), "{:?}", same.reasons());
            assert_eq!(of(40, 400_000).outcome, Gate::Inconclusive, "the others were not seen");
        }
    }
}

#[test]
fn a_metric_that_is_known_no_more_is_no_pass() {
    let without = |name: &str, of: Today, rounds: usize| {
        let mut of = of;
        of.rounds.iter_mut().take(rounds).for_each(|trial| {
            trial.readings.remove(name).expect("it was known");
        });
        held(of)
    };
    let lost = without("longest_step", today(5, 0, 80_000), 5);
    assert_eq!((lost.outcome, lost.change()), (Gate::Inconclusive, Change::Inconclusive));
    assert_eq!(lost.reasons(), ["longest_step is known in the baseline, and not today"]);
    assert_eq!(without("longest_step", today(5, 0, 80_000), 3).outcome, Gate::Inconclusive);
    assert_eq!(without("longest_step", today(5, 0, 80_000), 2).outcome, Gate::Passed);
    // What did regress is a breach all the same.
    let worse = without("longest_step", today(5, 40, 400_000), 5);
    assert_eq!(worse.outcome, Gate::Breached);
    assert!(worse.reasons().iter().any(|why| why.starts_with("longest_step")), "{worse:?}");
    // What was not known then is not missed.
    let mut then = baseline();
    for trial in &mut then.rounds {
        trial.readings.remove("longest_step");
    }
    let same = then.against("base.json".as_ref(), Accepted::Nothing, today(5, 0, 80_000));
    assert_eq!((same.outcome, same.lost.len()), (Gate::Passed, 0));
}

#[test]
fn what_was_seen_in_another_way_is_not_compared() {
    let sampled =
        || Today { sights: BTreeSet::from([Visibility::Sampled]), ..today(5, 40, 400_000) };
    let otherwise = held(sampled());
    assert_eq!(otherwise.outcome, Gate::Inconclusive);
    let said = otherwise.reasons().join("; ");
    assert!(said.contains("then by their own account, now in samples of /proc"), "{said}");
    let accepted = baseline().against("base.json".as_ref(), Accepted::All(Vec::new()), sampled());
    assert_eq!(accepted.outcome, Gate::Breached);
    assert_eq!(accepted.differs.len(), 1, "{:?}", accepted.differs);
}
