//! Round trips of everything that is typed or written, and the wording of what is wrong.

use std::fmt::Debug;
use std::str::FromStr;

use proptest::prelude::*;

use crate::*;

/// These texts are read as what stands beside them; those are refused, with what `says` how it is written.
fn reads<T>(says: &str, right: &[(&str, T)], wrong: &[&str])
where
    T: FromStr<Err = ParseUnitError> + PartialEq + Debug,
{
    for (text, value) in right {
        assert_eq!(text.parse::<T>().as_ref(), Ok(value), "{text}");
    }
    for text in wrong {
        let error = text.parse::<T>().expect_err(text).to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn what_people_type_is_read_or_refused_with_what_is_right() {
    let right = [("40960", 40960), ("64KiB", 65536), ("2 GiB", 2 << 30), ("3MB", 3_000_000)];
    let wrong = ["", "-1", "2GiBs", "lots", "99999999999GiB"];
    reads("is not a size: write it as", &right.map(|(text, size)| (text, Bytes(size))), &wrong);
    reads("is not a rate above zero", &[("10MiB/s", BytesPerSec(10 << 20))], &["0/s"]);

    let wrong = ["", "drains", "bytes:", "bytes:0", "reads:-1", "time:0s", "drain:1", "drain:"];
    reads::<ReadPolicy>("drain, short-read, fionread", &[], &wrong);
    use Arrivals::{Closed, PerSecond};
    let right = [("10/s", PerSecond(10.0)), ("closed", Closed(1)), ("closed:500", Closed(500))];
    let wrong =
        ["10", "0/s", "-1/s", "inf/s", "nan/s", "open", "closed:", "closed:0", "closed:10001"];
    reads("is not an arrival process", &right, &wrong);

    let url = |addr: &str| ProxyKind::Url(addr.parse().expect("an address"));
    let right = [
        ("mirror", ProxyKind::Mirror),
        ("direct", ProxyKind::Direct),
        ("nginx-1.27", ProxyKind::Server("nginx-1.27".to_owned())),
        ("exec: a url:b ", ProxyKind::Exec("a url:b".to_owned())),
        ("url:http://127.0.0.1:80/", url("127.0.0.1:80")),
        ("url:[::1]:80", url("[::1]:80")),
    ];
    let wrong = ["", "exec", "exec: ", "url", "url:localhost:80", "Nginx", "-a", "a:b", "mirror:"];
    reads("is not a proxy", &right, &wrong);
    reads::<RequestLine>("is not a path", &[], &["health", "get /x", "/a b", "/a\r\nX: y"]);
    let wrong = ["no colon", "Content-Length: 3", "A: b\r\nC: d"];
    reads::<Header>("is not a header", &[], &wrong);

    let cpus = CpuList::new(vec![0, 2, 3, 4]).expect("some");
    assert_eq!(cpus.in_turn(5), 2);
    reads("is not a list of CPUs", &[("0,2-4", cpus)], &["", "a", "1-", "3-1", "99999"]);
    let right = [
        ("default", Rcvbuf::Default),
        ("auto", Rcvbuf::Auto),
        ("40KiB", Rcvbuf::Size(Bytes(40_960))),
        ("1MiB", Rcvbuf::Size(Rcvbuf::ROOMY)),
    ];
    reads("is not a size", &right, &["lots"]);
    assert!(right.iter().all(|(text, value)| value.to_string() == *text), "and is written so");
}

#[test]
fn units_are_printed_with_their_unit() {
    assert_eq!(Bytes(40960).to_string(), "40.0 KiB");
    assert_eq!(BytesPerSec(1_050_000_000).to_string(), "1.05 GB/s");
    assert_eq!(Bytes(3_000).per(std::time::Duration::from_secs(2)), BytesPerSec(1_500));
    for (us, text) in [(870, "870 us"), (12_400, "12.4 ms"), (1_004_000, "1.004 s")] {
        assert_eq!(Micros(us).to_string(), text);
    }
}

#[test]
fn outcomes_are_counted_and_named_also_at_zero() {
    let counts = |outcomes: &[Outcome]| outcomes.iter().copied().collect::<OutcomeCounts>();
    let none = serde_json::to_value(counts(&[])).expect("counts are JSON");
    assert!(Outcome::ALL.iter().all(|outcome| none[outcome.name()] == 0), "{none}");
    assert_eq!(counts(&[]).failed_share(), None);
    let one_of_each = counts(&Outcome::ALL);
    assert_eq!((one_of_each.tried(), one_of_each.failed()), (8, 7));
    // What this host could not try is no failure.
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
