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
fn it_starts_empty_and_is_due_on_a_tick_that_all_buckets_share() {
    for rate in [1, 999, 1_000_000, u64::MAX] {
        let mut bucket = Bucket::new(BytesPerSec(rate), START);
        assert_eq!(bucket.allowed(START), 0, "rate {rate}");
        let due = bucket.due(START);
        assert_eq!(u128::from(due.0) % TICK.as_nanos(), 0, "rate {rate}");
        let wait = due.since(START);
        let least = if rate == 1 { Duration::from_secs(1) } else { Duration::from_nanos(1) };
        assert!(
            wait >= least && bucket.allowed(due) >= (rate / 100).max(1),
            "rate {rate}: {wait:?}"
        );
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
