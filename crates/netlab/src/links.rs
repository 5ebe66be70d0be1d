//! The links of a lab, as the commands that make them. Pure: nothing is run here.
//!
//! A veth pair joins each host (`eth0`) with a port of the switch, a bridge in a namespace of its own.
//! Pairs are made inside the switch's namespace with the other end straight in the host's: no link
//! is ever seen in the caller's.
//!
//! The rate is kept by tbf on both ends of each link, so that what a host sends and what it is sent
//! are both limited, as by its network card and by the switch's port. tbf and not htb: it is one queue
//! with one limit in bytes, while the leaf of an htb class counts packets, 1000 of them, of up to
//! 64 KiB each; and tbf cuts a segment that is larger than its bucket, where htb lets it pass. tbf
//! and not fq: fq paces each socket alone, and the sum of them has no limit.
//!
//! A delay is netem's, on the host's end alone: once between any two hosts.

use std::path::PathBuf;
use std::time::Duration;

use records::{Bytes, Micros};

use crate::plan::{PREFIX, SWITCH, addr};
use crate::tool::Tool;
use crate::{LabPlan, LinkRate};

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Where it runs.
    pub(crate) place: Place,
    /// What runs.
    pub(crate) tool: Tool,
    /// Its arguments.
    pub(crate) args: Vec<String>,
    /// The kernel module it needs, if that may be missing.
    pub(crate) module: Option<&'static str>,
}

/// A namespace of the lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The switch's.
    Switch,
    /// That of the host with this number.
    Host(usize),
}

/// The host's end of its link.
pub(crate) const UPLINK: &str = "eth0";

/// Everything to be done, in order. `nets`: the namespace files of the hosts, in the order of the plan;
/// ip(8) takes a path where it takes a name.
pub(crate) fn steps(plan: &LabPlan, nets: &[PathBuf]) -> Vec<Step> {
    let mut steps = vec![
        ip(Place::Switch, &format!("link add name {SWITCH} type bridge"), Some("bridge")),
        ip(Place::Switch, &format!("link set dev {SWITCH} up"), None),
    ];
    for (index, (host, net)) in plan.hosts.iter().zip(nets).enumerate() {
        let (place, port) = (Place::Host(index), host.name.as_str());
        let net = net.display();
        let pair = format!("link add name {port} type veth peer name {UPLINK} netns {net}");
        steps.extend([
            ip(Place::Switch, &pair, Some("veth")),
            ip(place, "link set dev lo up", None),
            ip(place, &format!("address add {}/{PREFIX} dev {UPLINK}", addr(index)), None),
        ]);
        // Queues before the link is up: not one packet passes without them.
        steps.extend(queues(plan.delay, plan.rate, place, UPLINK));
        steps.extend(queues(None, plan.rate, Place::Switch, port));
        steps.extend([
            ip(place, &format!("link set dev {UPLINK} up"), None),
            ip(Place::Switch, &format!("link set dev {port} up"), None),
            ip(Place::Switch, &format!("link set dev {port} master {SWITCH}"), None),
        ]);
    }
    steps
}

/// The queues of one end: netem outside, tbf inside it, as tc-netem(8) puts them together.
fn queues(delay: Option<Micros>, rate: Option<LinkRate>, place: Place, dev: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut parent = "root".to_owned();
    if let Some(delay) = delay.filter(|delay| *delay > Micros(0)) {
        let (us, limit) = (delay.0, on_the_way(delay, rate));
        let qdisc = format!("qdisc add dev {dev} root handle 1: netem delay {us}us limit {limit}");
        steps.push(tc(place, &qdisc, "sch_netem"));
        parent = "parent 1:1".to_owned();
    }
    if let Some(rate) = rate {
        let Bucket { burst, limit } = bucket(rate);
        let (bits, burst, limit) = (rate.bits(), burst.0, limit.0);
        let qdisc = format!(
            "qdisc add dev {dev} {parent} handle 10: tbf rate {bits}bit burst {burst} limit {limit}"
        );
        steps.push(tc(place, &qdisc, "sch_tbf"));
    }
    steps
}

/// Packets that netem must be able to hold, so that it delays and does not drop: what is on the way
/// at the rate (10 Gbit/s if there is none) in segments of 1500 bytes, and its own default of 1000.
fn on_the_way(delay: Micros, rate: Option<LinkRate>) -> u64 {
    let fast = LinkRate::from_bits(10_000_000_000);
    let bytes = rate.or(fast).map_or(Bytes(0), |rate| rate.within(delay.as_duration()));
    1_000 + bytes.0 / 1_500
}

/// A token bucket and its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bucket {
    burst: Bytes,
    limit: Bytes,
}

/// Both are 32 bits wide in the kernel (`struct tc_tbf_qopt`).
fn bucket(rate: LinkRate) -> Bucket {
    let of = |length: Duration, least: Bytes| rate.within(length).clamp(least, Bytes::mib(256));
    let burst = of(LinkRate::BURST, Bytes::kib(16));
    // Room for one whole GSO segment at least: else no full one could ever pass.
    Bucket { burst, limit: burst + of(LinkRate::QUEUE, Bytes::kib(128)) }
}

fn ip(place: Place, args: &str, module: Option<&'static str>) -> Step {
    Step { place, tool: Tool::Ip, args: words(args), module }
}

fn tc(place: Place, args: &str, module: &'static str) -> Step {
    Step { place, tool: Tool::Tc, args: words(args), module: Some(module) }
}

fn words(args: &str) -> Vec<String> {
    args.split(' ').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
