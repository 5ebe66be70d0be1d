use super::*;
use crate::{Pair, Reading};

fn p90() -> Metric {
    Metric::OF_A_TRIAL[2]
}

fn exact(a: f64, b: f64) -> Pair {
    Pair { a: Reading::exact(a).unwrap(), b: Reading::exact(b).unwrap() }
}

fn said(pairs: &[Pair], metric: &Metric) -> Comparison {
    compare(&Sample::Paired(pairs.to_vec()), metric, &Settings::default())
}

/// `a`, and `b` by these factors.
fn by(a: f64, factors: &[f64]) -> Vec<Pair> {
    factors.iter().map(|factor| exact(a, a * factor)).collect()
}

#[test]
fn twice_as_slow_in_every_round() {
    let comparison = said(&by(80e3, &[1.9, 2.1, 2.0, 2.2, 1.8]), &p90());
    assert_eq!((comparison.finding, comparison.change()), (Finding::Higher, Change::Regressed));
    assert!((comparison.effect.unwrap() - 2.0).abs() < 0.02, "{comparison:?}");
    assert_eq!(comparison.votes, Votes { up: 5, down: 0, still: 0 });
    assert_eq!(comparison.p_ranks, Some(0.0625));
}

#[test]
fn twice_the_rate_is_better() {
    let [.., rate] = Metric::OF_A_TRIAL;
    let rate = Metric { absolute_floor: 1.0, ..rate };
    assert_eq!(said(&by(8e8, &[1.9, 2.1, 2.0, 2.2, 1.8]), &rate).change(), Change::Improved);
}

#[test]
fn a_tenth_more_is_certain_and_does_not_count() {
    let comparison = said(&by(80e3, &[1.09, 1.11, 1.1, 1.12, 1.08]), &p90());
    assert!(comparison.p.unwrap() < 0.001);
    assert_eq!(comparison.finding, Finding::Excluded);
}

#[test]
fn three_times_next_to_nothing_does_not_count() {
    let comparison = said(&by(2e3, &[2.9, 3.1, 3.0, 3.2, 2.8]), &p90());
    assert_eq!(comparison.change(), Change::NoChange, "{comparison:?}");
}

#[test]
fn one_round_in_five_does_not_make_a_change() {
    let comparison = said(&by(80e3, &[1.0, 1.02, 6.0, 0.97, 1.01]), &p90());
    assert_eq!(comparison.finding, Finding::WithinChance, "{comparison:?}");
}

#[test]
fn rounds_that_went_both_ways() {
    let mut factors = vec![20.0; 12];
    factors.extend([0.75; 7]);
    let comparison = said(&by(80e3, &factors), &p90());
    assert!(comparison.p.unwrap() < 0.001);
    assert_eq!(comparison.finding, Finding::RoundsDisagree, "{comparison:?}");
}

#[test]
fn what_varies_a_hundredfold_shows_nothing() {
    let comparison = said(&by(80e3, &[0.1, 12.0, 0.2, 9.0, 1.0]), &p90());
    assert_eq!(comparison.finding, Finding::TooWide);
    assert_eq!(comparison.change(), Change::Inconclusive);
    assert!(comparison.smallest_shown().unwrap() > 10.0);
    // Of three rounds it would be from x0.00 to x25061289, or so: that is no interval to be shown.
    let three = said(&by(80e3, &[0.1, 12.0, 0.2]), &p90());
    assert_eq!(
        (three.finding, three.interval, three.smallest_shown()),
        (Finding::TooWide, None, None)
    );
}

#[test]
fn what_varies_threefold_is_not_below_the_floor() {
    let comparison = said(&by(80e3, &[0.3, 3.5, 0.35, 3.0, 2.2]), &p90());
    assert!(comparison.effect.unwrap() < 1.25, "the mean is below the floor: {comparison:?}");
    assert_eq!(comparison.finding, Finding::TooWide);
    assert!(comparison.is_unknown());
    let shown = comparison.smallest_shown().unwrap();
    assert!((4.0..5.0).contains(&shown), "{shown}");
}

#[test]
fn a_difference_of_shares_is_at_most_one() {
    let share = &Metric::OF_A_TRIAL[0];
    let comparison = said(&[exact(0.0, 0.0), exact(0.0, 0.1), exact(0.0, 1.0)], share);
    assert_eq!(
        comparison.interval.map(|interval| (interval.low, interval.high)),
        Some((-1.0, 1.0))
    );
}

#[test]
fn beyond_the_cap_in_both_arms() {
    let capped = Reading::at_least(1e6).unwrap();
    let both = [Pair { a: capped, b: capped }; 5];
    assert_eq!(said(&both, &p90()).finding, Finding::BeyondCap);
    let freed = [Pair { a: capped, b: Reading::exact(9e4).unwrap() }; 5];
    let comparison = said(&freed, &p90());
    assert_eq!((comparison.change(), comparison.bounded), (Change::Improved, 5));
    assert!((comparison.effect.unwrap() - 0.09).abs() < 1e-9, "at most: {comparison:?}");
}

#[test]
fn too_few_rounds_are_no_evidence() {
    for rounds in 0..3 {
        let comparison = said(&by(80e3, &vec![4.0; rounds]), &p90());
        assert_eq!(comparison.finding, Finding::TooFewRounds);
    }
    assert_eq!(said(&[], &p90()).effect, None);
}

#[test]
fn the_largest_numbers_stay_finite() {
    let metric =
        Metric { relative_floor: 0.1, absolute_floor: f64::MIN_POSITIVE, ..Metric::IDLE_P50 };
    let comparison = said(&[exact(0.0, 1e100), exact(1e100, 0.0)], &metric);
    assert_eq!(comparison.interval, None, "it tells nothing");
    // A NaN or an infinity stands in JSON as null.
    let said = serde_json::to_value(&comparison).unwrap();
    assert!(["effect", "p", "p_ranks"].iter().all(|key| said[key].is_f64()), "{said}");
}
