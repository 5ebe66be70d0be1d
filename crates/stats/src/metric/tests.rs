use super::*;

#[test]
fn no_metric_is_blind_to_a_change_that_counts() {
    for metric in Metric::OF_A_TRIAL.into_iter().chain([Metric::IDLE_P50]) {
        assert!(metric.absolute_floor > 0.0 && metric.floor() > 0.0, "{metric:?}");
        assert!(metric.widest() >= metric.floor() && metric.widest().is_finite(), "{metric:?}");
        assert_eq!(metric.relative_floor > 0.0, metric.scale == Scale::Ratio, "{metric:?}");
    }
}

#[test]
fn values_below_the_absolute_floor_count_as_it() {
    let [.., step, _] = Metric::OF_A_TRIAL;
    assert_eq!((step.name, step.absolute_floor), ("longest_step", 10_000.0));
    assert_eq!(step.reckoned(0.0), step.reckoned(10_000.0));
    assert!((step.said(step.reckoned(80_000.0)) - 80_000.0).abs() < 1e-6);
}
