use std::collections::BTreeMap;

use super::*;
use crate::{Reading, Round};

const WOBBLE: [f64; 10] = [1.0, 1.04, 0.97, 1.02, 0.95, 1.05, 0.99, 1.01, 0.96, 1.03];

fn trial(figures: &[(&str, f64)], idle: f64) -> Trial {
    Trial {
        inconclusive: None,
        control: Some(Reading::exact(idle).unwrap()),
        readings: figures
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Reading::exact(*value).unwrap()))
            .collect(),
    }
}

/// Ten rounds of p50, longest step and idle p50, with B at these factors.
fn ten(p50: f64, step: f64, idle: f64) -> Vec<Round> {
    (1..)
        .zip(WOBBLE)
        .map(|(number, wobble)| Round {
            number,
            a: trial(&[("p50", 80e3), ("longest_step", 50e3)], 5e3),
            b: trial(
                &[("p50", 80e3 * p50 * wobble), ("longest_step", 50e3 * step * wobble)],
                5e3 * idle / wobble,
            ),
        })
        .collect()
}

fn judged(rounds: &[Round]) -> Judgement {
    let control = Metric::IDLE_P50;
    judge(Trials::Rounds(rounds), &Metric::OF_A_TRIAL, Some(&control), &Settings::default())
}

#[test]
fn what_changed_is_named() {
    let judgement = judged(&ten(2.0, 1.0, 1.0));
    assert_eq!(judgement.change, Change::Regressed);
    assert_eq!(judgement.reasons.len(), 1);
    assert_eq!(judgement.reasons[0].to_string(), "p50 regressed");
    assert_eq!(judged(&ten(1.05, 1.1, 1.0)).change, Change::NoChange);
}

#[test]
fn a_longer_step_does_not_outweigh_faster_fetches() {
    let judgement = judged(&ten(0.5, 8.0, 1.0));
    assert_eq!(judgement.change, Change::Improved);
    let regressed: Vec<&str> =
        judgement.that_say(Change::Regressed).map(|c| c.metric.name).collect();
    assert_eq!(regressed, ["longest_step"]);
}

/// An arm that answers 503 at once: its percentiles fall by far more than its failures rise, and are
/// the more certain.
#[test]
fn an_arm_that_fails_fast_did_not_improve() {
    let figures = |failed: f64, us: f64| {
        trial(&[("failed_share", failed), ("p50", us), ("p90", us), ("p99", us)], 5e3)
    };
    let rounds: Vec<Round> = (1..)
        .zip(WOBBLE)
        .map(|(number, wobble)| Round {
            number,
            a: figures(0.02 * wobble, 80e3 * wobble),
            b: figures(0.5 * wobble, 500.0),
        })
        .collect();
    let judgement = judged(&rounds);
    let p = |at: usize| judgement.comparisons[at].p.unwrap();
    assert!(p(1) < p(0), "the percentiles are more certain: {} {}", p(1), p(0));
    assert_eq!(judgement.change, Change::Regressed, "{:?}", judgement.reasons);
    assert_eq!(judgement.reasons[0].to_string(), "failed_share regressed");
    assert_eq!(judgement.that_say(Change::Improved).count(), 3, "told all the same");
}

#[test]
fn a_host_that_moved_as_much_proves_nothing() {
    let judgement = judged(&ten(1.8, 1.0, 1.8));
    assert_eq!(judgement.change, Change::Inconclusive, "{:?}", judgement.reasons);
    assert!(matches!(judgement.reasons[0], Reason::ControlMoved { .. }));
    // Far more than the host did, or against it, is a change.
    assert_eq!(judged(&ten(8.0, 1.0, 1.8)).change, Change::Regressed);
    assert_eq!(judged(&ten(0.5, 1.0, 1.8)).change, Change::Improved);
}

#[test]
fn rounds_that_prove_nothing_are_left_out() {
    let mut rounds = ten(2.0, 1.0, 1.0);
    for round in rounds.iter_mut().take(5) {
        round.b.inconclusive = Some("the hypervisor took the CPU".to_owned());
    }
    let judgement = judged(&rounds);
    assert_eq!((judgement.change, judgement.left_out.len()), (Change::Regressed, 5));
    assert_eq!(judgement.left_out[0].arm, Arm::B);
    rounds[5].a.inconclusive = Some("a download never moved".to_owned());
    let judgement = judged(&rounds);
    assert_eq!(judgement.change, Change::Inconclusive);
    let said = judgement.reasons[0].to_string();
    assert_eq!(said, "4 of 10 rounds can be used, 5 are needed");
}

#[test]
fn a_disturbed_round_is_left_out() {
    let mut rounds = ten(1.0, 1.0, 1.0);
    rounds[3].a = trial(&[("p50", 800e3), ("longest_step", 900e3)], 15e3);
    let judgement = judged(&rounds);
    assert_eq!(judgement.change, Change::NoChange);
    assert_eq!((judgement.left_out[0].round, judgement.left_out[0].arm), (4, Arm::A));
    assert!(judgement.left_out[0].why.contains("idle_p50 was 15000 us"), "{judgement:?}");
}

#[test]
fn an_arm_may_have_a_baseline_of_its_own() {
    // A slower program without load, and as much slower with it: no round is disturbed.
    let judgement = judged(&ten(1.0, 1.0, 3.0));
    assert!(judgement.left_out.is_empty());
}

#[test]
fn wild_rounds_prove_nothing() {
    let wild = [0.1, 12.0, 0.2, 9.0, 1.0];
    let rounds: Vec<Round> = (1..)
        .zip(wild)
        .map(|(number, factor)| Round {
            number,
            a: trial(&[("p50", 80e3), ("p99", 200e3), ("failed_share", 0.0)], 5e3),
            b: trial(
                &[("p50", 80e3 * factor), ("p99", 200e3 * factor), ("failed_share", 0.0)],
                5e3,
            ),
        })
        .collect();
    let judgement = judged(&rounds);
    assert_eq!(judgement.change, Change::Inconclusive);
    let said = judgement.reasons[0].to_string();
    assert!(
        said.starts_with("p50 could only have shown a change by x14.7 or more, p99 could only"),
        "{said}"
    );
}

/// Three of six metrics are not more than half of them: it passed for `no change`.
#[test]
fn one_blind_metric_is_enough_to_prove_nothing() {
    let factors = [0.3, 3.5, 0.35, 3.0, 2.2];
    let rounds = |blind: &[&str]| -> Vec<Round> {
        let of = |factor: f64| {
            let figure =
                |(name, value)| (name, value * if blind.contains(&name) { factor } else { 1.0 });
            let figures = [("failed_share", 0.0), ("p50", 80e3), ("p90", 90e3), ("p99", 100e3)];
            trial(&figures.map(figure), 5e3)
        };
        (1..).zip(factors).map(|(number, by)| Round { number, a: of(1.0), b: of(by) }).collect()
    };
    assert_eq!(judged(&rounds(&[])).change, Change::NoChange);
    let blind = judged(&rounds(&["p99"]));
    assert_eq!(blind.change, Change::Inconclusive);
    let said = blind.reasons[0].to_string();
    assert!(said.starts_with("p99 could only have shown a change by x4.5 or more"), "{said}");
    assert_eq!(blind.unknown().count(), 1);
    assert_eq!(judged(&rounds(&["p50", "p90", "p99"])).change, Change::Inconclusive);
}

#[test]
fn a_metric_that_b_knows_no_more_is_missed() {
    let mut rounds = ten(1.0, 1.0, 1.0);
    for round in rounds.iter_mut().take(6) {
        round.b.readings.remove("longest_step");
    }
    let missed: Vec<String> = judged(&rounds).unknown().map(|c| c.metric.name.to_owned()).collect();
    assert_eq!(missed, ["longest_step"]);
    for round in &mut rounds {
        round.a.readings.remove("longest_step");
    }
    assert_eq!(judged(&rounds).unknown().count(), 0, "what A did not know is not missed");
}

fn apart(a: &[f64], b: &[f64]) -> Judgement {
    let trials = |arm: &[f64]| arm.iter().map(|p50| trial(&[("p50", *p50)], 5e3)).collect();
    let [a, b]: [Vec<Trial>; 2] = [a, b].map(trials);
    let control = Metric::IDLE_P50;
    let trials = Trials::Apart { a: &a, b: &b };
    judge(trials, &Metric::OF_A_TRIAL, Some(&control), &Settings::default())
}

/// Paired in the order in which they stand, 67 of the 120 orders of B regressed and 53 passed.
#[test]
fn rounds_of_other_days_have_no_order() {
    let then = [40e3, 60e3, 80e3, 100e3, 120e3];
    let twice = then.map(|p50| 2.0 * p50);
    let mut words = BTreeMap::new();
    for order in orders(&twice) {
        let judgement = apart(&then, &order);
        *words.entry(judgement.change.name()).or_insert(0) += 1;
        assert_eq!(judgement, apart(&then, &twice));
    }
    assert_eq!(words.values().sum::<i32>(), 120);
    assert_eq!(words.len(), 1, "{words:?}");
}

fn orders(values: &[f64]) -> Vec<Vec<f64>> {
    let Some((first, rest)) = values.split_first() else { return vec![Vec::new()] };
    let insert = |order: Vec<f64>| {
        (0..=order.len()).map(move |at| {
            let mut order = order.clone();
            order.insert(at, *first);
            order
        })
    };
    orders(rest).into_iter().flat_map(insert).collect()
}

#[test]
fn two_samples_need_not_be_as_many() {
    let (few, many) = ([80e3, 82e3, 78e3], [160e3, 165e3, 158e3, 162e3, 155e3, 161e3, 159e3]);
    assert_eq!(apart(&few, &many).change, Change::Regressed);
    assert_eq!(apart(&many, &few).change, Change::Improved);
    assert_eq!(apart(&few[..2], &many).change, Change::Inconclusive);
    assert_eq!(apart(&few, &few).change, Change::NoChange);
}

#[test]
fn nothing_to_judge() {
    let nothing = |rounds: &[Round]| judge(Trials::Rounds(rounds), &[], None, &Settings::default());
    assert_eq!(nothing(&[]).change, Change::Inconclusive);
    assert_eq!(nothing(&ten(1.0, 1.0, 1.0)).reasons, [Reason::NothingKnown]);
    let mut rounds = ten(1.0, 1.0, 1.0);
    for round in &mut rounds {
        round.b.readings = BTreeMap::new();
    }
    assert_eq!(judged(&rounds).reasons, [Reason::NothingKnown]);
}

#[test]
fn a_judgement_in_json() {
    let judgement = judged(&ten(2.0, 1.0, 1.0));
    let said = serde_json::to_value(&judgement).unwrap();
    assert_eq!(
        (&said["change"], &said["settings"]["confidence"]),
        (&"regressed".into(), &0.95.into())
    );
    let metrics: Vec<_> = said["comparisons"].as_array().unwrap().iter().collect();
    assert_eq!(metrics.len(), judgement.comparisons.len());
    assert!(metrics.iter().all(|metric| metric["finding"].is_string()), "{said}");
}
