use std::collections::BTreeMap;

use super::*;

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
    let control = Metric::idle_p50();
    judge(rounds, &Metric::of_a_trial(), Some(&control), Seed(1), &Settings::default())
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
        judgement.that_say(Change::Regressed).map(|c| c.metric.name()).collect();
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
    assert!(said.starts_with("2 of 3 metrics vary too much"), "{said}");
}

#[test]
fn nothing_to_judge() {
    let nothing = |rounds: &[Round]| judge(rounds, &[], None, Seed(1), &Settings::default());
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
    let text = serde_json::to_string(&judgement).unwrap();
    let read: Judgement = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (read.change, read.seed, read.settings),
        (judgement.change, Seed(1), judgement.settings)
    );
    let words = |of: &Judgement| of.comparisons.iter().map(|c| c.finding).collect::<Vec<_>>();
    assert_eq!(words(&read), words(&judgement));
    assert!(text.contains(r#""change":"regressed""#), "{text}");
}
