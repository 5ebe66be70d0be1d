//! Round trips of everything that is typed or written, and the wording of what is wrong.

use std::str::FromStr;

use proptest::prelude::*;

use crate::*;

#[test]
fn sizes_read_as_people_write_them() {
    for (text, bytes) in
        [("40960", 40960), ("64KiB", 65536), ("2 GiB", 2 << 30), ("3MB", 3_000_000)]
    {
        assert_eq!(Bytes::from_str(text), Ok(Bytes(bytes)), "{text}");
    }
    for text in ["", "-1", "2GiBs", "lots", "99999999999GiB"] {
        let error = Bytes::from_str(text).expect_err(text).to_string();
        assert!(error.contains("is not a size: write it as"), "{error}");
    }
}

#[test]
fn rates_are_above_zero() {
    assert_eq!(BytesPerSec::from_str("10MiB/s"), Ok(BytesPerSec(10 << 20)));
    assert!(BytesPerSec::from_str("0/s").is_err());
    assert_eq!(Bytes(3_000).per(std::time::Duration::from_secs(2)), BytesPerSec(1_500));
}

#[test]
fn units_are_printed_with_their_unit() {
    assert_eq!(Bytes(40960).to_string(), "40.0 KiB");
    assert_eq!(BytesPerSec(1_050_000_000).to_string(), "1.05 GB/s");
    assert_eq!(Micros(870).to_string(), "870 us");
    assert_eq!(Micros(12_400).to_string(), "12.4 ms");
    assert_eq!(Micros(1_004_000).to_string(), "1.004 s");
}

#[test]
fn policies_say_what_they_could_be() {
    for text in ["", "drains", "bytes:", "bytes:0", "reads:-1", "time:0s", "drain:1", "drain:"] {
        let error = ReadPolicy::from_str(text).expect_err(text).to_string();
        assert!(error.contains("drain, short-read, fionread"), "{error}");
    }
}

#[test]
fn arrivals_are_a_rate_or_closed() {
    assert_eq!("10/s".parse(), Ok(Arrivals::PerSecond(10.0)));
    assert_eq!("closed".parse(), Ok(Arrivals::Closed(1)));
    assert_eq!("closed:500".parse(), Ok(Arrivals::Closed(500)));
    for text in
        ["10", "0/s", "-1/s", "inf/s", "nan/s", "open", "closed:", "closed:0", "closed:10001"]
    {
        assert!(Arrivals::from_str(text).is_err(), "{text}");
    }
}

#[test]
fn every_outcome_is_named_in_json_also_at_zero() {
    let counts: OutcomeCounts = [Outcome::Ok, Outcome::TimeoutNoByte].into_iter().collect();
    let json = serde_json::to_value(&counts).expect("counts are JSON");
    for outcome in Outcome::ALL {
        assert!(json.get(outcome.name()).is_some(), "{outcome} is missing in {json}");
    }
    assert_eq!(counts.failed_share(), Some(0.5));
    assert_eq!(OutcomeCounts::default().failed_share(), None);
}

#[test]
fn what_this_host_could_not_try_is_no_failure() {
    let counts = |outcomes: &[Outcome]| outcomes.iter().copied().collect::<OutcomeCounts>();
    let one_of_each: OutcomeCounts = Outcome::ALL.into_iter().collect();
    assert_eq!((one_of_each.tried(), one_of_each.failed()), (8, 7));
    let few = counts(&[Outcome::Ok, Outcome::Reset, Outcome::LocalError, Outcome::LocalError]);
    assert_eq!((few.attempts(), few.untried(), few.failed_share()), (4, 2, Some(0.5)));
    assert_eq!(counts(&[Outcome::LocalError]).failed_share(), None, "nothing is known of it");
}

#[test]
fn no_figure_is_rounded_to_a_limit_that_it_is_not() {
    for (share, limit, text) in [
        (5.0 / 100.0, 0.05, "5 %"),
        (5.0 / 101.0, 0.05, "4.95 %"),
        (0.049_999_9, 0.05, "4.99999 %"),
        (5.0 / 99.0, 0.05, "5.1 %"),
        (0.0502, 0.05, "5.02 %"),
        (0.349, 0.35, "34.9 %"),
        (0.25, 0.35, "25 %"),
        (4.9 / 14.0, 0.35, "35 %"),
    ] {
        assert_eq!(percent_beside(share, limit), text, "{share}");
    }
    for (us, limit, text) in [
        (500_000, 500_000, "500 ms"),
        (499_600, 500_000, "499.6 ms"),
        (500_001, 500_000, "500.001 ms"),
        (999_600, 1_000_000, "0.9996 s"),
        (99_960, 100_000, "99.96 ms"),
        (49_900, 50_000, "49.9 ms"),
    ] {
        assert_eq!(Micros(us).beside(Micros(limit)), text, "{us}");
    }
    assert_eq!([999_600, 99_960].map(|us| Micros(us).to_string()), ["1.000 s", "100 ms"]);
}

fn policy() -> impl Strategy<Value = ReadPolicy> {
    prop_oneof![
        Just(ReadPolicy::Drain),
        Just(ReadPolicy::ShortRead),
        Just(ReadPolicy::Fionread),
        (1..u64::MAX >> 2).prop_map(|n| ReadPolicy::Bytes(Bytes(n))),
        (1..u64::MAX).prop_map(ReadPolicy::Reads),
        (1..u64::MAX >> 20).prop_map(|n| ReadPolicy::Time(Micros(n))),
    ]
}

proptest! {
    #[test]
    fn a_policy_reads_back_as_itself(policy in policy()) {
        prop_assert_eq!(policy.to_string().parse(), Ok(policy));
    }

    #[test]
    fn an_exact_size_reads_back_as_itself(size in 0..u64::MAX >> 2) {
        prop_assert_eq!(Bytes(size).exact().parse(), Ok(Bytes(size)));
    }
}
