use std::path::PathBuf;

use proptest::prelude::*;
use records::{Bytes, Micros};

use super::{Place, Step, bucket, steps};
use crate::tool::Tool;
use crate::{LabPlan, LinkRate};

fn nets(plan: &LabPlan) -> Vec<PathBuf> {
    (0..plan.hosts.len()).map(|file| format!("/proc/4711/fd/{file}").into()).collect()
}

fn lines(plan: &LabPlan) -> Vec<String> {
    let line = |step: &Step| {
        let place = match step.place {
            Place::Switch => "switch".to_owned(),
            Place::Host(index) => format!("host {index}"),
        };
        format!("{place}: {} {}", step.tool.name(), step.args.join(" "))
    };
    steps(plan, &nets(plan)).iter().map(line).collect()
}

#[test]
fn one_host_is_one_link() {
    let mut plan = LabPlan::of(["proxy"]);
    plan.rate = LinkRate::from_bits(1_000_000_000);
    plan.delay = Some(Micros(500));
    let expected = [
        "switch: ip link add name switch type bridge",
        "switch: ip link set dev switch up",
        "switch: ip link add name proxy type veth peer name eth0 netns /proc/4711/fd/0",
        "host 0: ip link set dev lo up",
        "host 0: ip address add 10.77.0.1/24 dev eth0",
        "host 0: tc qdisc add dev eth0 root handle 1: netem delay 500us limit 1041",
        "host 0: tc qdisc add dev eth0 parent 1:1 handle 10: tbf rate 1000000000bit burst 250000 \
         limit 6500000",
        "switch: tc qdisc add dev proxy root handle 10: tbf rate 1000000000bit burst 250000 limit \
         6500000",
        "host 0: ip link set dev eth0 up",
        "switch: ip link set dev proxy up",
        "switch: ip link set dev proxy master switch",
    ];
    assert_eq!(lines(&plan), expected);
}

#[test]
fn without_a_rate_or_a_delay_there_is_no_queue() {
    let mut plan = LabPlan::of(["a", "b"]);
    plan.delay = Some(Micros(0));
    let steps = steps(&plan, &nets(&plan));
    assert!(steps.iter().all(|step| step.tool == Tool::Ip), "{steps:?}");
}

#[test]
fn each_end_of_each_link_has_its_rate_and_each_way_one_delay() {
    let mut plan = LabPlan::of(["origin", "proxy", "slow", "fast"]);
    plan.rate = LinkRate::from_bits(100_000_000);
    plan.delay = Some(Micros(1_000));
    let lines = lines(&plan);
    let count = |word: &str| lines.iter().filter(|line| line.contains(word)).count();
    assert_eq!((count(" tbf "), count(" netem "), count(" veth ")), (8, 4, 4));
    assert_eq!(lines.iter().filter(|line| line.starts_with("switch: tc")).count(), 4);
}

proptest! {
    #[test]
    fn a_bucket_holds_a_packet_and_its_queue_a_segment(bits in 8_000u64..=1_000_000_000_000) {
        let rate = LinkRate::from_bits(bits).expect("in range");
        let bucket = bucket(rate);
        prop_assert!(bucket.burst > Bytes(1514));
        prop_assert!(bucket.limit >= bucket.burst + Bytes::kib(64));
        prop_assert!(u32::try_from(bucket.limit.0).is_ok());
    }
}
