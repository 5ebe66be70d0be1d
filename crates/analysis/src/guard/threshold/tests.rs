use proptest::prelude::{any, proptest};
use records::Outcome as FetchOutcome;

use super::{Outcome, Threshold, ThresholdError};
use crate::summarise;
use testkit::fixture::Run;

fn held(run: &Run, threshold: &str) -> (Outcome, String) {
    let threshold: Threshold = threshold.parse().expect("a threshold");
    let held = threshold.hold(&summarise(&run.records));
    (held.outcome, held.found)
}

#[test]
fn figures_are_held_against_limits_in_their_units() {
    let run = Run::loaded(&[(78, FetchOutcome::Ok, 20_000), (2, FetchOutcome::Reset, 20_000)]);
    assert_eq!(held(&run, "p90<100ms"), (Outcome::Met, "20.0 ms".to_owned()));
    assert_eq!(held(&run, "p90 < 20ms").0, Outcome::Breached);
    assert_eq!(held(&run, "failed_share<=0.01"), (Outcome::Breached, "0.0250".to_owned()));
    assert_eq!(held(&run, "failed_share<=2.5%").0, Outcome::Met);
    assert_eq!(held(&run, "p90/idle_p90<5"), (Outcome::Met, "4".to_owned()));
    assert_eq!(held(&run, "slow_bytes_per_sec>300MB/s").0, Outcome::Breached);
    assert_eq!(held(&run, "failed<=2").0, Outcome::Met);
}

#[test]
fn what_is_not_known_is_not_met() {
    let idle = Run::good();
    assert_eq!(held(&idle, "p99<1s").0, Outcome::Unknown);
    assert_eq!(held(&idle, "p99>1ms").0, Outcome::Unknown);
    assert_eq!(held(&idle, "slow_bytes_per_sec>1MB/s").0, Outcome::Unknown);
}

#[test]
fn a_lower_bound_breaches_what_it_can_and_meets_nothing_above() {
    let run = Run::loaded(&[(80, FetchOutcome::TimeoutNoByte, 1_000_300)]);
    let (outcome, found) = held(&run, "p50<100ms");
    assert_eq!(outcome, Outcome::Breached);
    assert!(found.starts_with(">= 1.000 s"), "{found}");
    assert_eq!(held(&run, "p50<5s").0, Outcome::Unknown, "it may have been longer");
    assert_eq!(held(&run, "p50>500ms").0, Outcome::Met);
}

#[test]
fn a_proxy_that_refuses_at_once_meets_no_upper_limit() {
    let run = Run::loaded(&[(20, FetchOutcome::Ok, 20_000), (60, FetchOutcome::BadStatus, 400)]);
    let (outcome, found) = held(&run, "p99<100ms");
    assert_eq!((outcome, found.as_str()), (Outcome::Breached, ">= 1.000 s"));
    assert_eq!(held(&run, "p50/idle_p50<5").0, Outcome::Breached);
    assert_eq!(held(&run, "p99<5s").0, Outcome::Unknown, "nobody waited so long");
}

#[test]
fn what_is_no_threshold_says_how_to_write_one() {
    let error = |text: &str| text.parse::<Threshold>().expect_err(text);
    assert!(matches!(error("p99"), ThresholdError::Form(_)));
    assert!(error("p98<1ms").to_string().contains("p50, p90, p99"));
    assert!(error("p99<100").to_string().contains("a time, as 100ms"));
    assert!(error("p99<100parsecs").to_string().contains("a time"));
    assert!(error("failed_share<1ms").to_string().contains("a share"));
    assert!(error("failed_share<101%").to_string().contains("a share"));
    assert!(error("slow_bytes_per_sec>300").to_string().contains("300MB/s"), "a bare number");
    assert!(matches!(error("p99/failed_share<5"), ThresholdError::Units(_)));
    assert!(matches!(error("p99/nothing<5"), ThresholdError::Figure(_)));
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = text.parse::<Threshold>();
    }
}
