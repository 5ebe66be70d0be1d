use super::*;

#[test]
fn those_of_a_trial_could_have_been_declared() {
    let mut all = Metric::of_a_trial();
    all.push(Metric::idle_p50());
    for metric in all {
        assert_eq!(Metric::try_from(metric.said.clone()), Ok(metric));
    }
}

#[test]
fn what_cannot_be_compared_by_is_refused() {
    let lower = Direction::LowerIsBetter;
    assert!(Metric::ratio("", "us", lower, 0.1, 1.0).is_err());
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(Metric::ratio("p50", "us", lower, 0.1, wrong).is_err(), "{wrong}");
        assert!(Metric::ratio("p50", "us", lower, wrong, 1.0).is_err(), "{wrong}");
        assert!(Metric::difference("share", "", lower, wrong).is_err(), "{wrong}");
    }
    let metric = Metric::ratio("p50", "us", lower, 0.25, 1.0).unwrap();
    assert!(metric.clone().with_widest(1.1).is_err());
    assert!(metric.clone().with_widest(f64::NAN).is_err());
    assert!(metric.with_widest(2.0).is_ok());
}

#[test]
fn values_below_the_absolute_floor_count_as_it() {
    let step = Metric::ratio("step", "us", Direction::LowerIsBetter, 0.5, 10_000.0).unwrap();
    assert_eq!(step.reckoned(0.0), step.reckoned(10_000.0));
    assert!((step.said(step.reckoned(80_000.0)) - 80_000.0).abs() < 1e-6);
}

#[test]
fn a_metric_in_json() {
    let metric = Metric::idle_p50();
    let text = serde_json::to_string(&metric).unwrap();
    assert_eq!(serde_json::from_str::<Metric>(&text).unwrap(), metric);
    let wrong = text.replace("1000.0", "-1.0");
    assert!(serde_json::from_str::<Metric>(&wrong).is_err(), "{wrong}");
}
