//! What stands below a judgement, by itself.

use crate::judge::holm;
use crate::sample::{Numbers, median};
use crate::{Metric, Scale, median_whole};

/// Extra hours of sleep by two drugs, of ten patients each, and of the same (Student 1908, as R's
/// `sleep`).
const SLEEP: [[f64; 10]; 2] = [
    [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
    [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
];

/// R: `t.test(extra ~ group, sleep, paired = TRUE)`, and without `paired`: t = -1.8608, df = 17.776.
#[test]
fn students_and_welchs_tests_of_students_data() {
    let [a, b] = SLEEP;
    let paired = Numbers::Paired(a.iter().zip(b).map(|(a, b)| b - a).collect());
    let apart = Numbers::Apart { a: a.to_vec(), b: b.to_vec() };
    for (numbers, low, high, p) in [
        (paired, 0.700_114_2, 2.459_885_8, 0.002_832_89),
        (apart, -0.205_483_2, 3.365_483_2, 0.079_394_14),
    ] {
        let interval = numbers.interval(0.05).unwrap();
        assert!((interval.low - low).abs() < 1e-6, "{interval:?}");
        assert!((interval.high - high).abs() < 1e-6, "{interval:?}");
        assert!((numbers.p().unwrap() - p).abs() < 1e-7);
    }
    // Fewer than two rounds have no interval.
    assert_eq!(Numbers::Paired(vec![]).interval(0.05), None);
    assert_eq!(Numbers::Paired(vec![1.0]).interval(0.05), None);
    assert_eq!(Numbers::Apart { a: vec![1.0, 2.0], b: vec![1.0] }.interval(0.05), None);
}

#[test]
fn medians() {
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    assert_eq!(median_whole([]), None);
    assert_eq!(median_whole([3, 1, 2]), Some(2));
    assert_eq!(median_whole([40, 10, 20, 31]), Some(25));
}

#[test]
fn families() {
    let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
    for (seen, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
        assert!((seen - expected).abs() < 1e-12, "{adjusted:?}");
    }
    assert!(holm(&[]).is_empty());
    assert_eq!(holm(&[0.2]), [0.2]);
    assert_eq!(holm(&[f64::NAN, 2.0, -1.0]), [1.0, 1.0, 0.0]);
}

#[test]
fn no_metric_is_blind_to_a_change_that_counts() {
    for metric in Metric::OF_A_TRIAL.into_iter().chain([Metric::IDLE_P50]) {
        assert!(metric.absolute_floor > 0.0 && metric.floor() > 0.0, "{metric:?}");
        assert!(metric.widest() >= metric.floor() && metric.widest().is_finite(), "{metric:?}");
        assert_eq!(metric.relative_floor > 0.0, metric.scale == Scale::Ratio, "{metric:?}");
    }
    // Values below the absolute floor count as it.
    let step = Metric::OF_A_TRIAL[4];
    assert_eq!((step.name, step.reckoned(0.0)), ("longest_step", step.reckoned(10_000.0)));
    assert!((step.said(step.reckoned(80_000.0)) - 80_000.0).abs() < 1e-6);
}
