//! Rates as people write them, and the commands that make links.

use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;
use records::Bytes;

use crate::plan::{Place, Step, bucket, steps};
use crate::{LabPlan, LinkRate};

fn lines(plan: &LabPlan) -> Vec<String> {
    let nets: Vec<PathBuf> =
        (0..plan.hosts.len()).map(|file| format!("/proc/4711/fd/{file}").into()).collect();
    let line = |(place, step): &(Place, Step)| {
        let place = match place {
            Place::Switch => "switch".to_owned(),
            Place::Host(index) => format!("host {index}"),
        };
        format!("{place}: {} {}", step.tool, step.args)
    };
    steps(plan, &nets).iter().map(line).collect()
}

#[test]
fn one_host_is_one_link_with_its_rate_at_both_ends() {
    let mut plan = LabPlan::of(["proxy"]);
    plan.rate = LinkRate::from_bits(1_000_000_000);
    let expected = [
        "switch: ip link add name switch type bridge",
        "switch: ip link set dev switch up",
        "switch: ip link add name proxy type veth peer name eth0 netns /proc/4711/fd/0",
        "host 0: ip link set dev lo up",
        "host 0: ip address add 10.77.0.1/24 dev eth0",
        "host 0: tc qdisc add dev eth0 root handle 10: tbf rate 1000000000bit burst 250000 limit \
         6500000",
        "switch: tc qdisc add dev proxy root handle 10: tbf rate 1000000000bit burst 250000 limit \
         6500000",
        "host 0: ip link set dev eth0 up",
        "switch: ip link set dev proxy up",
        "switch: ip link set dev proxy master switch",
    ];
    assert_eq!(lines(&plan), expected);
}

#[test]
fn without_a_rate_there_is_no_queue() {
    let lines = lines(&LabPlan::of(["a", "b"]));
    assert!(lines.iter().all(|line| !line.contains(": tc ")), "{lines:?}");
    assert_eq!(lines.iter().filter(|line| line.contains(" veth ")).count(), 2);
}

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
