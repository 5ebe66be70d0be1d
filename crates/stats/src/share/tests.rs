use super::*;
use crate::Settings;

fn count(failed: u64, attempts: u64) -> Count {
    Count::new(failed, attempts).unwrap()
}

/// Newcombe 1998, Statistics in Medicine 17:857, table I, method 3.
#[test]
fn wilson_as_published() {
    let cases = [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ];
    for (failed, attempts, low, high) in cases {
        let seen = wilson(count(failed, attempts), Settings::default().confidence).interval;
        assert!((seen.low - low).abs() < 5e-5, "{failed}/{attempts}: {seen:?}");
        assert!((seen.high - high).abs() < 5e-5, "{failed}/{attempts}: {seen:?}");
    }
}

#[test]
fn no_share_of_nothing() {
    assert!(Count::new(0, 0).is_err());
    assert!(Count::new(3, 2).is_err());
    assert_eq!(share_over_rounds(&[], Settings::default().confidence), None);
}

/// Ten runs of `--reuseport` differ by far more than fetches would that are independent.
#[test]
fn runs_that_differ_make_the_interval_wide() {
    let runs = [39, 45, 18, 57, 56, 27, 65, 36, 46, 43].map(|failed| count(failed, 80));
    let settings = Settings::default();
    let over = share_over_rounds(&runs, settings.confidence).unwrap();
    let pooled = wilson(count(432, 800), settings.confidence);
    assert!((over.share - 0.54).abs() < 1e-9);
    let width = |of: ShareInterval| of.interval.high - of.interval.low;
    assert!(width(over) > 2.5 * width(pooled), "{over:?} {pooled:?}");
}

#[test]
fn runs_without_a_failure_are_not_certain_of_it() {
    let runs = [count(0, 80); 5];
    let over = share_over_rounds(&runs, Settings::default().confidence).unwrap();
    assert_eq!((over.share, over.interval.low), (0.0, 0.0));
    assert!((over.interval.high - 0.0095).abs() < 1e-3, "{over:?}");
}
