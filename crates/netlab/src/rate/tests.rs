use std::time::Duration;

use proptest::prelude::*;
use records::{Bytes, BytesPerSec};

use super::LinkRate;

fn bits(text: &str) -> Option<u64> {
    text.parse().ok().map(LinkRate::bits)
}

#[test]
fn a_rate_is_read_as_people_write_it() {
    assert_eq!(bits("1Gbit/s"), Some(1_000_000_000));
    assert_eq!(bits("100 mbit"), Some(100_000_000));
    assert_eq!(bits("1.5Mbit/s"), Some(1_500_000));
    assert_eq!(bits("8000bit"), Some(8_000));
}

#[test]
fn what_is_no_rate_is_refused_with_an_example() {
    for text in
        ["", "1", "1GB/s", "bit", "-1Mbit", "1e3Mbit", "7999bit", "9Tbit", "2000Gbit", ".5Mbit"]
    {
        let error = text.parse::<LinkRate>().expect_err(text);
        assert!(error.contains("1Gbit/s"), "{error}");
    }
}

#[test]
fn a_rate_says_what_passes() {
    let rate = LinkRate::from_bits(1_000_000_000).expect("in range");
    assert_eq!(rate.bytes_per_sec(), BytesPerSec(125_000_000));
    assert_eq!(rate.within(Duration::from_millis(2)), Bytes(250_000));
}

proptest! {
    #[test]
    fn a_rate_reads_back_as_itself(bits in 8_000u64..=1_000_000_000_000) {
        let rate = LinkRate::from_bits(bits).expect("in range");
        prop_assert_eq!(rate.to_string().parse::<LinkRate>(), Ok(rate));
    }

    #[test]
    fn no_text_panics(text in "\\PC*") {
        let _ = text.parse::<LinkRate>();
    }
}
