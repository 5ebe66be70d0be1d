//! What must hold for any input.

use proptest::prelude::*;
use stats::*;

use crate::draws::judged;

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
    proptest::collection::vec((trial(), trial()), 0..12)
        .prop_map(|pairs| (1..).zip(pairs).map(|(number, (a, b))| Round { number, a, b }).collect())
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

fn judged_apart(a: &[Trial], b: &[Trial]) -> Judgement {
    judge(Trials::Apart { a, b }, &Metric::OF_A_TRIAL)
}

/// The same to the last bit, but for the order in which trials that were left out are told.
fn is_the_same(mut left: Judgement, mut right: Judgement) -> bool {
    left.left_out.clear();
    right.left_out.clear();
    left == right
}

/// p90 alone, of rounds that know nothing else.
fn compared(pairs: &[(f64, f64)], absolute_floor: f64) -> MetricComparison {
    let metric = Metric { absolute_floor, ..Metric::OF_A_TRIAL[2] };
    let of = |value: f64| Trial {
        readings: [(metric.name.to_owned(), Reading::Exact(value))].into(),
        ..Trial::default()
    };
    let numbered = (1..).zip(pairs);
    let rounds: Vec<Round> =
        numbered.map(|(number, (a, b))| Round { number, a: of(*a), b: of(*b) }).collect();
    judge(Trials::Rounds(&rounds), &[metric]).comparisons.remove(0)
}

/// The word for A against B.
fn mirrored(change: Change) -> Change {
    match change {
        Change::Improved => Change::Regressed,
        Change::Regressed => Change::Improved,
        same => same,
    }
}

fn near(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * left.abs().max(right.abs())
}

fn swapped(pairs: &[(f64, f64)]) -> Vec<(f64, f64)> {
    pairs.iter().map(|(a, b)| (*b, *a)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn swapped_arms_mirror_the_judgement(rounds in rounds()) {
        let back: Vec<Round> = rounds
            .iter()
            .map(|round| Round { number: round.number, a: round.b.clone(), b: round.a.clone() })
            .collect();
        let (there, back) = (judged(&rounds), judged(&back));
        prop_assert_eq!(there.change, mirrored(back.change));
        for (left, right) in there.comparisons.iter().zip(&back.comparisons) {
            prop_assert_eq!(left.change(), mirrored(right.change()));
            prop_assert_eq!(left.p, right.p);
        }
    }

    #[test]
    fn the_order_of_rounds_changes_nothing(
        (rounds, shuffled) in rounds().prop_flat_map(|r| (Just(r.clone()), Just(r).prop_shuffle())),
    ) {
        prop_assert!(is_the_same(judged(&rounds), judged(&shuffled)));
    }

    #[test]
    fn two_samples_have_no_order(
        (a, then) in trials().prop_flat_map(|t| (Just(t.clone()), Just(t).prop_shuffle())),
        (b, now) in trials().prop_flat_map(|t| (Just(t.clone()), Just(t).prop_shuffle())),
    ) {
        let (here, there) = (judged_apart(&a, &b), judged_apart(&then, &now));
        prop_assert!(is_the_same(here.clone(), there));
        let back = judged_apart(&b, &a);
        prop_assert_eq!(here.change, mirrored(back.change));
        for (left, right) in here.comparisons.iter().zip(&back.comparisons) {
            prop_assert_eq!(left.p, right.p);
        }
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

    #[test]
    fn an_interval_holds_its_estimate(pairs in shifted()) {
        let comparison = compared(&pairs, 5e3);
        let (effect, interval) = (comparison.effect.unwrap(), comparison.interval.unwrap());
        prop_assert!(interval.low <= effect && effect <= interval.high);
    }

    #[test]
    fn a_swapped_interval_is_the_inverse(pairs in shifted()) {
        let (there, back) = (compared(&pairs, 5e3), compared(&swapped(&pairs), 5e3));
        prop_assert!(near(there.effect.unwrap() * back.effect.unwrap(), 1.0));
        prop_assert!(near(there.interval.unwrap().low * back.interval.unwrap().high, 1.0));
        prop_assert_eq!(there.change(), mirrored(back.change()));
    }

    #[test]
    fn ratios_know_no_unit(
        pairs in shifted(),
        unit in prop_oneof![Just(1e-6), Just(1e-3), Just(1e3)],
    ) {
        let other: Vec<_> = pairs.iter().map(|(a, b)| (a * unit, b * unit)).collect();
        let (here, there) = (compared(&pairs, 5e3), compared(&other, 5e3 * unit));
        prop_assert!(near(here.effect.unwrap(), there.effect.unwrap()));
        prop_assert_eq!(here.finding, there.finding);
    }

    #[test]
    fn a_slower_b_never_looks_faster(pairs in shifted(), more in 1.0..4.0_f64) {
        let slower: Vec<_> = pairs.iter().map(|(a, b)| (*a, b * more)).collect();
        let (before, after) = (compared(&pairs, 1.0), compared(&slower, 1.0));
        prop_assert!(after.effect.unwrap() >= before.effect.unwrap() * (1.0 - 1e-12));
        prop_assert!(after.interval.unwrap().low >= before.interval.unwrap().low * (1.0 - 1e-12));
        if before.change() == Change::Regressed {
            prop_assert_eq!(after.change(), Change::Regressed);
        }
    }

    #[test]
    fn an_arm_does_not_differ_from_itself(pairs in shifted()) {
        let same: Vec<_> = pairs.iter().map(|(a, _)| (*a, *a)).collect();
        prop_assert_eq!(compared(&same, 5e3).finding, Finding::Excluded);
    }
}
