//! A bucket never gives more than its rate, and no less to a reader that comes when it is due.

use std::time::Duration;

use proptest::prelude::*;
use records::{BytesPerSec, MonoNs};

use super::{Bucket, DEPTH, TICK};

const START: MonoNs = MonoNs(7_000_000_123);

/// What `rate` brings in `time`, and a byte for rounding.
fn worth(rate: u64, time: Duration) -> u128 {
    u128::from(rate) * time.as_nanos() / 1_000_000_000 + 1
}

#[test]
fn it_starts_empty_and_is_due_later() {
    let mut bucket = Bucket::new(BytesPerSec(1_000_000), START);
    assert_eq!(bucket.allowed(START), 0);
    let due = bucket.due(START);
    assert!(due > START);
    assert!(bucket.allowed(due) >= 10_000);
}

#[test]
fn one_byte_a_second_is_one_wake_up_a_second() {
    let mut bucket = Bucket::new(BytesPerSec(1), START);
    let due = bucket.due(START);
    assert!(due.since(START) >= Duration::from_secs(1));
    assert_eq!(bucket.allowed(due), 1);
}

#[test]
fn buckets_meet_on_the_same_ticks() {
    for rate in [1, 999, 1 << 20, u64::MAX] {
        let due = Bucket::new(BytesPerSec(rate), START).due(START);
        assert_eq!(u128::from(due.0) % TICK.as_nanos(), 0, "rate {rate}");
    }
}

proptest! {
    #[test]
    fn it_never_gives_more_than_the_rate(
        rate in 1u64..1 << 40,
        visits in prop::collection::vec((0u64..100_000_000, 0u64..u64::MAX), 1..100),
    ) {
        let mut bucket = Bucket::new(BytesPerSec(rate), START);
        let (mut now, mut read) = (START, 0u128);
        for (pause, wanted) in visits {
            now = now + Duration::from_nanos(pause);
            let got = bucket.allowed(now).min(wanted);
            bucket.spend(got);
            read += u128::from(got);
            prop_assert!(read <= worth(rate, now.since(START)) + worth(rate, DEPTH));
            prop_assert!(bucket.due(now) > now);
        }
    }

    #[test]
    fn a_reader_that_comes_when_due_gets_the_whole_rate(
        rate in 1u64..1 << 40,
        late in prop::collection::vec(0u64..20_000_000, 1..100),
    ) {
        let mut bucket = Bucket::new(BytesPerSec(rate), START);
        let (mut now, mut read) = (START, 0u128);
        for late in late {
            now = bucket.due(now) + Duration::from_nanos(late);
            let got = bucket.allowed(now);
            prop_assert!(got > 0);
            bucket.spend(got);
            read += u128::from(got);
        }
        prop_assert!(read + 1 >= worth(rate, now.since(START)) - 1);
    }
}
