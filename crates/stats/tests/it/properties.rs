//! What must hold for any input.

use proptest::prelude::*;
use stats::*;

use crate::draws::{compared, judged, judged_apart, numbered};

fn reading() -> impl Strategy<Value = Reading> {
    prop_oneof![
        8 => (0.0..2e6_f64).prop_map(Reading::Exact),
        1 => (1e6..1.1e6_f64).prop_map(Reading::AtLeast),
        1 => prop_oneof![Just(0.0), Just(1e-300), Just(1e100)]
            .prop_map(Reading::Exact),
    ]
}

fn trial() -> impl Strategy<Value = Trial> {
    let names = Metric::OF_A_TRIAL.into_iter().chain([Metric::IDLE_P50]);
    let names: Vec<String> = names.map(|metric| metric.name.to_owned()).collect();
    let readings =
        proptest::collection::btree_map(proptest::sample::select(names), reading(), 0..8);
    let why = proptest::option::weighted(0.1, Just("robbed".to_owned()));
    (why, readings).prop_map(|(inconclusive, readings)| Trial { inconclusive, readings })
}

fn rounds() -> impl Strategy<Value = Vec<Round>> {
    proptest::collection::vec((trial(), trial()), 0..12).prop_map(numbered)
}

/// p90 of rounds in which the second arm is really another.
fn shifted() -> impl Strategy<Value = Vec<(f64, f64)>> {
    (0.2..5.0_f64, proptest::collection::vec((1e4..1e5_f64, 0.7..1.4_f64), 3..12)).prop_map(
        |(factor, rounds)| rounds.into_iter().map(|(a, noise)| (a, a * factor * noise)).collect(),
    )
}

fn trials() -> impl Strategy<Value = Vec<Trial>> {
    proptest::collection::vec(trial(), 0..9)
}

/// The same to the last bit, but for the order in which trials that were left out are told.
fn is_the_same(mut left: Judgement, mut right: Judgement) -> bool {
    left.left_out.clear();
    right.left_out.clear();
    left == right
}

/// p90 alone, of rounds that know nothing else, as they are made of others.
fn p90(
    pairs: &[(f64, f64)],
    absolute_floor: f64,
    made: impl Fn(f64, f64) -> (f64, f64),
) -> MetricComparison {
    let made = pairs.iter().map(|(a, b)| made(*a, *b));
    let pairs: Vec<_> = made.map(|(a, b)| (Reading::Exact(a), Reading::Exact(b))).collect();
    compared(Metric { absolute_floor, ..Metric::OF_A_TRIAL[2] }, &pairs)
}

/// The word for A against B.
fn mirrored(change: Change) -> Change {
    match change {
        Change::Improved => Change::Regressed,
        Change::Regressed => Change::Improved,
        same => same,
    }
}

fn are_mirrored(there: &Judgement, back: &Judgement) -> Result<(), TestCaseError> {
    prop_assert_eq!(there.change, mirrored(back.change));
    for (left, right) in there.comparisons.iter().zip(&back.comparisons) {
        prop_assert_eq!(left.change(), mirrored(right.change()));
        prop_assert_eq!(left.p, right.p);
    }
    Ok(())
}

fn near(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * left.abs().max(right.abs())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn rounds_have_no_order_and_arms_no_side(
        (rounds, shuffled) in rounds().prop_flat_map(|r| (Just(r.clone()), Just(r).prop_shuffle())),
    ) {
        let here = judged(&rounds);
        prop_assert!(is_the_same(here.clone(), judged(&shuffled)));
        let back = numbered(rounds.into_iter().map(|round| (round.b, round.a)));
        are_mirrored(&here, &judged(&back))?;
    }

    #[test]
    fn two_samples_have_no_order_and_no_side(
        (a, then) in trials().prop_flat_map(|t| (Just(t.clone()), Just(t).prop_shuffle())),
        (b, now) in trials().prop_flat_map(|t| (Just(t.clone()), Just(t).prop_shuffle())),
    ) {
        let here = judged_apart(&a, &b);
        prop_assert!(is_the_same(here.clone(), judged_apart(&then, &now)));
        are_mirrored(&here, &judged_apart(&b, &a))?;
    }

    #[test]
    fn every_figure_is_finite(rounds in rounds()) {
        let judgement = judged(&rounds);
        for c in judgement.comparisons.iter().chain([&judgement.control]) {
            let ends = c.interval.map(|interval| [interval.low, interval.high]);
            let all = [c.a, c.b, c.effect, c.p, c.p_family];
            let all = all.into_iter().flatten().chain(ends.into_iter().flatten());
            prop_assert!(all.into_iter().all(f64::is_finite), "{c:?}");
            for p in [c.p, c.p_family].into_iter().flatten() {
                prop_assert!((0.0..=1.0 + 1e-9).contains(&p));
            }
        }
    }

    /// An interval holds its estimate, and is the inverse of that of swapped arms. Ratios know no unit. An
    /// arm does not differ from itself.
    #[test]
    fn one_metric_is_compared_by_ratios(
        pairs in shifted(),
        unit in prop_oneof![Just(1e-6), Just(1e-3), Just(1e3)],
    ) {
        let (here, back) = (p90(&pairs, 5e3, |a, b| (a, b)), p90(&pairs, 5e3, |a, b| (b, a)));
        let (effect, interval) = (here.effect.unwrap(), here.interval.unwrap());
        prop_assert!(interval.low <= effect && effect <= interval.high);
        prop_assert!(near(effect * back.effect.unwrap(), 1.0));
        prop_assert!(near(interval.low * back.interval.unwrap().high, 1.0));
        prop_assert_eq!(here.change(), mirrored(back.change()));
        let there = p90(&pairs, 5e3 * unit, |a, b| (a * unit, b * unit));
        prop_assert!(near(effect, there.effect.unwrap()));
        prop_assert_eq!(here.finding, there.finding);
        prop_assert_eq!(p90(&pairs, 5e3, |a, _| (a, a)).finding, Finding::Excluded);
    }

    #[test]
    fn a_slower_b_never_looks_faster(pairs in shifted(), more in 1.0..4.0_f64) {
        let (before, after) = (p90(&pairs, 1.0, |a, b| (a, b)), p90(&pairs, 1.0, |a, b| (a, b * more)));
        prop_assert!(after.effect.unwrap() >= before.effect.unwrap() * (1.0 - 1e-12));
        prop_assert!(after.interval.unwrap().low >= before.interval.unwrap().low * (1.0 - 1e-12));
        if before.change() == Change::Regressed {
            prop_assert_eq!(after.change(), Change::Regressed);
        }
    }
}
