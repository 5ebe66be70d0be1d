//! Rates as people write them, and the queues that keep them. What is made of a plan, labs on this kernel
//! show (tests/it).

use std::time::Duration;

use proptest::prelude::*;
use records::Bytes;

use crate::LinkRate;
use crate::plan::bucket;

#[test]
fn a_rate_is_read_as_people_write_it_and_anything_else_refused_with_an_example() {
    for (text, bits) in [
        ("1Gbit/s", Some(1_000_000_000)),
        ("100 mbit", Some(100_000_000)),
        ("8000bit", Some(8_000)),
        ("7999bit", None),
        ("2000Gbit", None),
        ("", None),
        ("1", None),
        ("1GB/s", None),
        ("bit", None),
        ("-1Mbit", None),
        ("1e3Mbit", None),
    ] {
        let read = text.parse::<LinkRate>();
        assert_eq!(read.as_ref().ok().map(|rate| rate.bits()), bits, "{text}");
        if let Err(error) = read {
            assert!(error.to_string().contains("write it as 1Gbit/s"), "{error}");
        }
    }
    let rate = LinkRate::from_bits(1_000_000_000).expect("in range");
    assert_eq!(rate.within(Duration::from_millis(2)), Bytes(250_000));
}

proptest! {
    #[test]
    fn a_bucket_holds_a_packet_and_its_queue_a_segment(bits in 8_000u64..=1_000_000_000_000) {
        let (burst, limit) = bucket(LinkRate::from_bits(bits).expect("in range"));
        prop_assert!(burst > Bytes(1514));
        prop_assert!(limit >= burst + Bytes::kib(64));
        prop_assert!(u32::try_from(limit.0).is_ok());
    }

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
