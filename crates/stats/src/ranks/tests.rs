use super::*;

fn near(p: Option<f64>, wanted: f64) -> bool {
    p.is_some_and(|p| (p - wanted).abs() < 1e-9)
}

/// Heights of crossed minus self-fertilised plants, eighths of an inch (Darwin 1876).
const ZEA: [f64; 15] =
    [49.0, -67.0, 8.0, 16.0, 6.0, 23.0, 28.0, 41.0, 14.0, 29.0, 56.0, 24.0, 75.0, 60.0, -48.0];

/// Counts all assignments one by one, which the program does not.
fn signed_by_hand(differences: &[f64]) -> f64 {
    let ranks = doubled_ranks(&differences.iter().map(|d| d.abs()).collect::<Vec<_>>());
    let total: usize = ranks.iter().sum();
    let up = |signs: u64| -> usize {
        let of = |(bit, rank): (usize, &usize)| if signs >> bit & 1 == 1 { *rank } else { 0 };
        ranks.iter().enumerate().map(of).sum()
    };
    let seen = differences.iter().enumerate().map(|(bit, d)| u64::from(*d > 0.0) << bit).sum();
    let far = |signs: u64| (2 * up(signs)).abs_diff(total);
    let all = 1_u64 << ranks.len();
    (0..all).filter(|signs| far(*signs) >= far(seen)).count() as f64 / all as f64
}

#[test]
fn the_signed_rank_test_of_darwins_plants() {
    // R: wilcox.test(x, exact = TRUE) has V = 96 and p = 0.04126 of these.
    let p = signed_rank(&ZEA);
    assert!(near(p, 1352.0 / 32_768.0), "{p:?}");
    assert!(near(p, signed_by_hand(&ZEA)), "{p:?}");
}

#[test]
fn exact_values_of_few_pairs() {
    assert_eq!(signed_rank(&[]), None);
    assert_eq!(signed_rank(&[1.0; 5]), Some(0.0625));
    assert_eq!(signed_rank(&[0.0; 5]), Some(1.0));
    // Signed sums of the ranks 3, 2, 1: 6, 4, 2, 0 and their opposites; 4 is reached by half.
    assert_eq!(signed_rank(&[3.0, 2.0, -1.0]), Some(0.5));
    assert_eq!(smallest_signed(5), 0.0625);
    let tied = [2.0, 2.0, -2.0, 5.0, 1.0];
    assert!(near(signed_rank(&tied), signed_by_hand(&tied)));
}

#[test]
fn exact_values_of_few_in_each_arm() {
    assert_eq!(rank_sum(&[], &[1.0]), None);
    let (low, high) = ([1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0]);
    // Five against five, none alike: 2 of the 252 ways to choose five of ten.
    assert!(near(rank_sum(&low, &high), 2.0 / 252.0));
    assert!(near(Some(smallest_sum(5, 5)), 2.0 / 252.0));
    assert!(near(Some(smallest_sum(3, 5)), 2.0 / 56.0));
    assert_eq!(rank_sum(&low, &low), Some(1.0));
    // One step out of order: of 252 ways 1, 1, 2 on each side are as far or farther... 2 + 2.
    let one_in = [5.5, 6.5, 7.0, 8.0, 9.0];
    assert!(near(rank_sum(&[1.0, 2.0, 3.0, 4.0, 6.0], &one_in), 4.0 / 252.0));
    assert!(near(rank_sum(&[0.0; 3], &[1.0; 3]), 0.1), "ties within an arm change nothing");
}

/// Beyond the counted the normal takes over: one value more in each arm makes about the same of it.
#[test]
fn many_are_taken_for_normal() {
    let apart = |n: u32, by: f64| {
        let a: Vec<f64> = (0..n).map(f64::from).collect();
        let b: Vec<f64> = a.iter().map(|value| value + by).collect();
        rank_sum(&a, &b).unwrap()
    };
    for by in [0.5, 2.5, 4.5] {
        let (counted, normal) = (apart(12, by), apart(13, by));
        assert!((counted.log10() - normal.log10()).abs() < 0.2, "{by}: {counted} {normal}");
    }
    // All but a few small ones go up: 3.3, 3.4 standard deviations.
    let signed = |n: i32| {
        let of = |i: i32| f64::from(if i < 10 { -i } else { i });
        signed_rank(&(1..=n).map(of).collect::<Vec<_>>()).unwrap()
    };
    let (counted, normal) = (signed(24), signed(25));
    assert!((counted.log10() - normal.log10()).abs() < 0.5, "{counted} {normal}");
}
