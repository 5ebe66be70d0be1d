use super::*;

#[test]
fn a_known_family() {
    let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
    for (seen, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
        assert!((seen - expected).abs() < 1e-12, "{adjusted:?}");
    }
}

#[test]
fn odd_families() {
    assert!(holm(&[]).is_empty());
    assert_eq!(holm(&[0.2]), [0.2]);
    assert_eq!(holm(&[f64::NAN, 2.0, -1.0]), [1.0, 1.0, 0.0]);
}
