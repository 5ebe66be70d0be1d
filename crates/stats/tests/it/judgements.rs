//! What is said of rounds that are made for it.

use stats::Reading::Exact;
use stats::*;

use crate::draws::{compared, judged, judged_apart, numbered, trial};

const WOBBLE: [f64; 10] = [1.0, 1.04, 0.97, 1.02, 0.95, 1.05, 0.99, 1.01, 0.96, 1.03];

/// Ten rounds of p50, longest step and idle p50, with B at these factors.
fn ten(p50: f64, step: f64, idle: f64) -> Vec<Round> {
    let of = |p50, step, idle| trial(&[("p50", p50), ("longest_step", step), ("idle_p50", idle)]);
    let b = |by: f64| of(80e3 * p50 * by, 50e3 * step * by, 5e3 * idle / by);
    numbered(WOBBLE.map(|wobble| (of(80e3, 50e3, 5e3), b(wobble))))
}

/// Ten rounds by how many times B has A's p50, longest step and idle p50.
#[test]
fn what_changed_is_named() {
    for (factors, change, why) in [
        ([2.0, 1.0, 1.0], Change::Regressed, "p50 regressed"),
        ([1.05, 1.1, 1.0], Change::NoChange, "no metric changed by as much as counts"),
        // A longer step does not outweigh faster fetches.
        ([0.5, 8.0, 1.0], Change::Improved, "p50 improved; longest_step regressed"),
        ([1.8, 1.0, 1.8], Change::Inconclusive, "the host differed between the arms without load"),
        // Far more than the host did, or against it, is a change.
        ([8.0, 1.0, 1.8], Change::Regressed, "p50 regressed"),
        ([0.5, 1.0, 1.8], Change::Improved, "p50 improved"),
    ] {
        let [p50, step, idle] = factors;
        let judgement = judged(&ten(p50, step, idle));
        let reasons: Vec<String> = judgement.reasons.iter().map(ToString::to_string).collect();
        assert_eq!(judgement.change, change, "{factors:?}: {reasons:?}");
        assert!(reasons.join("; ").starts_with(why), "{factors:?}: {reasons:?}");
    }
}

/// An arm that answers 503 at once: its percentiles fall by far more than its failures rise, and are
/// the more certain.
#[test]
fn an_arm_that_fails_fast_did_not_improve() {
    let figures =
        |failed, us| trial(&[("failed_share", failed), ("p50", us), ("p90", us), ("p99", us)]);
    let rounds = WOBBLE.map(|by| (figures(0.02 * by, 80e3 * by), figures(0.5 * by, 500.0)));
    let judgement = judged(&numbered(rounds));
    let p = |at: usize| judgement.comparisons[at].p.unwrap();
    assert!(p(1) < p(0), "the percentiles are more certain: {} {}", p(1), p(0));
    assert_eq!(judgement.change, Change::Regressed, "{:?}", judgement.reasons);
    assert_eq!(judgement.reasons[0].to_string(), "failed_share regressed");
    assert_eq!(judgement.that_say(Change::Improved).count(), 3, "told all the same");
}

#[test]
fn rounds_that_prove_nothing_are_left_out() {
    let mut rounds = ten(2.0, 1.0, 1.0);
    for round in rounds.iter_mut().take(5) {
        round.b.inconclusive = Some("the hypervisor took the CPU".to_owned());
    }
    let judgement = judged(&rounds);
    assert_eq!((judgement.change, judgement.left_out.len()), (Change::Regressed, 5));
    assert_eq!(judgement.left_out[0].arm, PairArm::B);
    rounds[5].a.inconclusive = Some("a download never moved".to_owned());
    let judgement = judged(&rounds);
    assert_eq!(judgement.change, Change::Inconclusive);
    let said = judgement.reasons[0].to_string();
    assert_eq!(said, "4 of 10 rounds can be used, 5 are needed");
}

#[test]
fn a_disturbed_round_is_left_out() {
    let mut rounds = ten(1.0, 1.0, 1.0);
    rounds[3].a = trial(&[("p50", 800e3), ("longest_step", 900e3), ("idle_p50", 15e3)]);
    let judgement = judged(&rounds);
    assert_eq!(judgement.change, Change::NoChange);
    assert_eq!((judgement.left_out[0].round, judgement.left_out[0].arm), (4, PairArm::A));
    assert!(judgement.left_out[0].why.contains("idle_p50 was 15000 us"), "{judgement:?}");
    // A slower program without load, and as much slower with it: an arm has its own baseline.
    assert!(judged(&ten(1.0, 1.0, 3.0)).left_out.is_empty());
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
            trial(&figures.map(figure))
        };
        numbered(factors.map(|by| (of(1.0), of(by))))
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
fn two_samples_need_not_be_as_many() {
    let day = |p50: &[f64]| p50.iter().map(|us| trial(&[("p50", *us)])).collect::<Vec<_>>();
    let few = day(&[80e3, 82e3, 78e3]);
    let many = day(&[160e3, 165e3, 158e3, 162e3, 155e3, 161e3, 159e3]);
    for (a, b, change) in [
        (&few[..], &many[..], Change::Regressed),
        (&many, &few, Change::Improved),
        (&few[..2], &many, Change::Inconclusive),
        (&few, &few, Change::NoChange),
    ] {
        assert_eq!(judged_apart(a, b).change, change);
    }
}

#[test]
fn nothing_to_judge() {
    let nothing = |rounds: &[Round]| judge(Trials::Rounds(rounds), &[]);
    assert_eq!(nothing(&[]).change, Change::Inconclusive);
    assert_eq!(nothing(&ten(1.0, 1.0, 1.0)).reasons, [Reason::NothingKnown]);
    let of_a_alone = [(); 5].map(|()| (trial(&[("p50", 80e3)]), Trial::default()));
    assert_eq!(judged(&numbered(of_a_alone)).reasons, [Reason::NothingKnown]);
}

/// p90 of `a` us in A, and by these factors in B.
fn by(a: f64, factors: &[f64]) -> MetricComparison {
    let pairs: Vec<_> = factors.iter().map(|factor| (Exact(a), Exact(a * factor))).collect();
    compared(Metric::OF_A_TRIAL[2], &pairs)
}

#[test]
fn what_a_metric_says() {
    let both_ways = [[20.0; 12].as_slice(), &[0.75; 7]].concat();
    for (what, a, factors, finding) in [
        ("twice as slow in every round", 80e3, &[1.9, 2.1, 2.0, 2.2, 1.8][..], Finding::Higher),
        ("a tenth more is certain", 80e3, &[1.09, 1.11, 1.1, 1.12, 1.08], Finding::Excluded),
        ("three times next to nothing", 2e3, &[2.9, 3.1, 3.0, 3.2, 2.8], Finding::BelowFloor),
        ("one round in five", 80e3, &[1.0, 1.02, 6.0, 0.97, 1.01], Finding::WithinChance),
        ("rounds that went both ways", 80e3, &both_ways, Finding::RoundsDisagree),
        ("a hundredfold", 80e3, &[0.1, 12.0, 0.2, 9.0, 1.0], Finding::TooWide),
        ("the same of three rounds", 80e3, &[0.1, 12.0, 0.2], Finding::TooWide),
        ("threefold", 80e3, &[0.3, 3.5, 0.35, 3.0, 2.2], Finding::TooWide),
        ("two rounds", 80e3, &[4.0, 4.0], Finding::TooFewRounds),
        ("one round", 80e3, &[4.0], Finding::TooFewRounds),
        ("no round", 80e3, &[], Finding::TooFewRounds),
    ] {
        let comparison = by(a, factors);
        assert_eq!(comparison.finding, finding, "{what}: {comparison:?}");
    }
}

#[test]
fn figures_of_a_metric() {
    let twice = by(80e3, &[1.9, 2.1, 2.0, 2.2, 1.8]);
    assert!((twice.effect.unwrap() - 2.0).abs() < 0.02, "{twice:?}");
    assert_eq!(twice.votes, Votes { up: 5, down: 0, still: 0 });
    assert_eq!(twice.change(), Change::Regressed);
    let rate = Metric { absolute_floor: 1.0, ..Metric::OF_A_TRIAL[5] };
    let faster = [1.9, 2.1, 2.0, 2.2, 1.8].map(|factor| (Exact(8e8), Exact(8e8 * factor)));
    assert_eq!(compared(rate, &faster).change(), Change::Improved, "twice the rate is better");
    let tenth = by(80e3, &[1.09, 1.11, 1.1, 1.12, 1.08]);
    assert!(tenth.p.unwrap() < 0.001, "certain, and does not count");
    let wild = by(80e3, &[0.1, 12.0, 0.2, 9.0, 1.0]);
    assert!(wild.smallest_shown().unwrap() > 10.0 && wild.is_unknown());
    // Of three rounds it would be from x0.00 to x25061289, or so: that is no interval to be shown.
    let three = by(80e3, &[0.1, 12.0, 0.2]);
    assert_eq!((three.interval, three.smallest_shown()), (None, None));
    let threefold = by(80e3, &[0.3, 3.5, 0.35, 3.0, 2.2]);
    assert!(threefold.effect.unwrap() < 1.25, "the mean is below the floor: {threefold:?}");
    let shown = threefold.smallest_shown().unwrap();
    assert!((4.0..5.0).contains(&shown), "{shown}");
    assert_eq!(by(80e3, &[]).effect, None);
    // A difference of shares is at most one.
    let shares = [(0.0, 0.0), (0.0, 0.1), (0.0, 1.0)].map(|(a, b)| (Exact(a), Exact(b)));
    let interval = compared(Metric::OF_A_TRIAL[0], &shares).interval.unwrap();
    assert_eq!((interval.low, interval.high), (-1.0, 1.0));
}

#[test]
fn beyond_the_cap() {
    let (p90, capped) = (Metric::OF_A_TRIAL[2], Reading::AtLeast(1e6));
    assert_eq!(compared(p90, &[(capped, capped); 5]).finding, Finding::BeyondCap);
    let freed = compared(p90, &[(capped, Exact(9e4)); 5]);
    assert_eq!(freed.change(), Change::Improved);
    assert!((freed.effect.unwrap() - 0.09).abs() < 1e-9, "at most: {freed:?}");
}
