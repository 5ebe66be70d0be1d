use std::collections::BTreeSet;

use records::{Bytes, Manifest, Micros, Rcvbuf, Recording, Visibility};
use stats::Trial;

use super::{Against, Baseline, BaselineHost, Conditions, Origin, Today};
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
    baseline().against("base.json".as_ref(), None, today)
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

/// The same, but of so many rounds the longest step is not known.
fn without(rounds: usize, mut of: Today) -> Today {
    for trial in of.rounds.iter_mut().take(rounds) {
        trial.readings.remove("longest_step").expect("it was known");
    }
    of
}

/// Of each day: the outcome, what changed, what is known no more, and why.
#[test]
fn today_is_held_against_then() {
    let same = |count| today(count, 0, 80_000);
    let worse = |count| today(count, 40, 400_000);
    let of = |wanted, of: Today| held(Today { wanted, ..of });
    let sampled = || Today { sights: BTreeSet::from([Visibility::Sampled]), ..worse(5) };
    // What the tests of `docs/ci.md` ask of the real proxies.
    let three = Baseline::new(origin(), None, today(3, 0, 14_000));
    let by_three = |today| three.against("base.json".as_ref(), None, today);
    let unknown = Baseline { rounds: without(5, same(5)).rounds, ..baseline() };
    let any = Some(Vec::new());
    let rows = [
        ("the same", held(same(5))),
        ("worse", held(worse(5))),
        ("better", held(today(5, 0, 20_000))),
        ("two rounds", held(same(2))),
        ("none", held(Today::default())),
        ("all fail, three rounds", by_three(today(3, 80, 14_000))),
        ("none fails, three rounds", by_three(today(3, 0, 15_000))),
        ("3 of 20 rounds", of(20, same(3))),
        ("3 of 20 rounds, worse: the others were not seen", of(20, worse(3))),
        ("3 of 6 rounds", of(6, same(3))),
        ("3 of 6 rounds, worse", of(6, worse(3))),
        ("3 of 5 rounds", of(5, same(3))),
        ("a metric is known no more", held(without(5, same(5)))),
        ("it is of two rounds", held(without(3, same(5)))),
        ("it is of three", held(without(2, same(5)))),
        ("what did regress is a breach", held(without(5, worse(5)))),
        (
            "what was not known then is not missed",
            unknown.against("base.json".as_ref(), None, same(5)),
        ),
        ("seen in another way", held(sampled())),
        ("which is accepted", baseline().against("base.json".as_ref(), any, sampled())),
    ];
    let row = |(what, against): (&str, Against)| {
        let Against { outcome, lost, differs, .. } = &against;
        let (change, reasons) = (against.change(), against.reasons().join(" | "));
        format!("{what}: {outcome:?}, {change}, lost {lost:?}, differs {differs:?}: {reasons}\n")
    };
    insta::assert_snapshot!(rows.map(row).concat());
}
