use super::*;

/// Heights of crossed minus self-fertilised plants, eighths of an inch (Darwin 1876).
const ZEA: [f64; 15] =
    [49.0, -67.0, 8.0, 16.0, 6.0, 23.0, 28.0, 41.0, 14.0, 29.0, 56.0, 24.0, 75.0, 60.0, -48.0];

#[test]
fn fishers_test_of_darwins_plants() {
    // Fisher 1935, section 21: 863 of 32 768 on each side.
    let p = sign_flip(&ZEA, Seed(1)).unwrap();
    assert!((p - 1726.0 / 32_768.0).abs() < 0.008, "{p}");
    let all = 1_u64 << ZEA.len();
    let sizes = ZEA.map(f64::abs);
    let far = (0..all).filter(|signs| signed_sum(&sizes, *signs).abs() >= 314.0).count();
    assert_eq!(far, 1726);
}

#[test]
fn exact_values_of_few() {
    assert_eq!(sign_flip(&[], Seed(1)), None);
    assert_eq!(sign_flip(&[1.0; 5], Seed(1)), Some(0.0625));
    assert_eq!(sign_flip(&[0.0; 5], Seed(1)), Some(1.0));
    // Sums of 3, 2, 1 with any signs: 6, 4, 2, 0 and their opposites; 4 is reached by half.
    assert_eq!(sign_flip(&[3.0, 2.0, -1.0], Seed(1)), Some(0.5));
    assert_eq!(smallest(5), 0.0625);
}

#[test]
fn what_is_not_finite_says_nothing() {
    assert_eq!(sign_flip(&[f64::NAN; 3], Seed(1)), Some(1.0));
    assert_eq!(sign_flip(&[f64::INFINITY, 1.0, 1.0], Seed(1)), Some(0.5));
}
