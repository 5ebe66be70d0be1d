//! What a lab is to be: hosts, their settings, and the links between them; and the commands of ip(8)
//! and tc(8) that make them so.
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

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::Duration;

use net::role::in_net;
use records::{Bytes, ParseUnitError};
use serde::{Deserialize, Serialize};

use crate::LabError;

/// A lab, as asked for. All links are alike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabPlan {
    /// The hosts in the order of their addresses: 254 at most.
    pub hosts: Vec<HostPlan>,
    /// What each link carries at most, in each direction. Default: all that the CPUs can.
    pub rate: Option<LinkRate>,
}

/// A host, as asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostPlan {
    /// Its name, which is also that of its port at the switch: one that a link can have, 1 to 15
    /// letters (IFNAMSIZ, netdevice(7)), and not `switch`.
    pub name: String,
    /// Settings of its own, written in this order before it has a link.
    pub sysctls: Vec<Sysctl>,
}

/// One setting of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysctl {
    /// Its name, as sysctl(8) writes it: `net.ipv4.tcp_rmem`. It must be one of those that each
    /// network namespace has for itself.
    pub name: String,
    /// What it is to be, with single spaces.
    pub value: String,
}

impl LabPlan {
    /// Hosts with these names, no settings, and links as fast as they can be.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let host = |name: &str| HostPlan { name: name.to_owned(), sysctls: Vec::new() };
        Self { hosts: names.into_iter().map(host).collect(), rate: None }
    }

    /// The host with this name, to give it settings.
    pub fn host_mut(&mut self, name: &str) -> Option<&mut HostPlan> {
        self.hosts.iter_mut().find(|host| host.name == name)
    }
}

/// The address of the host at this place of the plan: 10.77.0.1 and up. It exists only inside.
pub(crate) fn addr(index: usize) -> IpAddr {
    let last = u8::try_from(index + 1).unwrap_or(u8::MAX);
    IpAddr::V4(Ipv4Addr::new(10, 77, 0, last))
}

/// Length of the network part of [`addr`].
pub(crate) const PREFIX: u8 = 24;

/// The switch's name; no host can have it.
pub(crate) const SWITCH: &str = "switch";

/// The file of a sysctl, proc_sys(5): it is that of the thread's own network namespace.
pub(crate) fn sysctl_path(name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/sys/{}", name.replace('.', "/")))
}

/// The kernel puts tabs between numbers, people spaces.
pub(crate) fn flat(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The rate of a link in bits per second, as links are sold. In records: a plain integer.
///
/// Written `1Gbit/s`, `100Mbit`; the unit is needed, since a bare number would be taken for bytes by
/// some. From 8 kbit/s to 1 Tbit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LinkRate(u64);

/// Largest first: the first that divides a rate is its unit.
const UNITS: [(u64, &str); 4] =
    [(1_000_000_000, "Gbit"), (1_000_000, "Mbit"), (1_000, "kbit"), (1, "bit")];

impl LinkRate {
    /// How long a link that was idle may send faster than its rate: what its bucket holds, tc-tbf(8).
    /// tbf reckons in nanoseconds, not in ticks of a timer, so it can be this short.
    pub const BURST: Duration = Duration::from_millis(2);

    /// How long a packet may wait before the queue is full and the next one is lost: what the port
    /// of a small switch holds.
    pub const QUEUE: Duration = Duration::from_millis(50);

    /// `bits` per second; `None` outside of 8 kbit/s to 1 Tbit/s.
    pub fn from_bits(bits: u64) -> Option<Self> {
        (8_000..=1_000_000_000_000).contains(&bits).then_some(Self(bits))
    }

    /// Bits per second.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// What passes in `length`, rounded down.
    pub(crate) fn within(self, length: Duration) -> Bytes {
        let bytes = u128::from(self.0) * length.as_micros() / 8_000_000;
        Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

/// Spelt so that it reads back as the same rate: `1Gbit/s`, `1500kbit/s`.
impl fmt::Display for LinkRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = UNITS.into_iter().find(|(unit, _)| self.0.is_multiple_of(*unit));
        let (unit, name) = unit.unwrap_or((1, "bit"));
        f.pad(&format!("{}{name}/s", self.0 / unit))
    }
}

impl FromStr for LinkRate {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let rate = text.trim().to_ascii_lowercase();
        let rate = rate.strip_suffix("/s").unwrap_or(&rate);
        let bits = UNITS.into_iter().find_map(|(unit, name)| {
            let number = rate.strip_suffix(&name.to_ascii_lowercase())?.trim().parse::<u64>();
            number.ok()?.checked_mul(unit)
        });
        let wrong = || ParseUnitError::new(text, "a link's rate", "1Gbit/s, 200Mbit/s or 64kbit/s");
        bits.and_then(Self::from_bits).ok_or_else(wrong)
    }
}

/// One command inside a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The program: `ip` or `tc`.
    pub(crate) tool: &'static str,
    /// Its arguments, with blanks between them.
    pub(crate) args: String,
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

/// The programs that are needed.
pub(crate) const TOOLS: [&str; 2] = ["ip", "tc"];

/// Where distributions put them when PATH, as that of a plain user, has no sbin.
const SBIN: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Everything to be done, in order. `nets`: the namespace files of the hosts, in the order of the plan;
/// ip(8) takes a path where it takes a name.
pub(crate) fn steps(plan: &LabPlan, nets: &[PathBuf]) -> Vec<(Place, Step)> {
    let ip = |place, args: String, module| (place, Step { tool: "ip", args, module });
    let mut steps = vec![
        ip(Place::Switch, format!("link add name {SWITCH} type bridge"), Some("bridge")),
        ip(Place::Switch, format!("link set dev {SWITCH} up"), None),
    ];
    for (index, (host, net)) in plan.hosts.iter().zip(nets).enumerate() {
        let (place, port) = (Place::Host(index), host.name.as_str());
        let net = net.display();
        let pair = format!("link add name {port} type veth peer name {UPLINK} netns {net}");
        let address = format!("address add {}/{PREFIX} dev {UPLINK}", addr(index));
        steps.push(ip(Place::Switch, pair, Some("veth")));
        steps.push(ip(place, "link set dev lo up".to_owned(), None));
        steps.push(ip(place, address, None));
        // Queues before the link is up: not one packet passes without them.
        if let Some(rate) = plan.rate {
            steps.push((place, queue(rate, UPLINK)));
            steps.push((Place::Switch, queue(rate, port)));
        }
        steps.push(ip(place, format!("link set dev {UPLINK} up"), None));
        steps.push(ip(Place::Switch, format!("link set dev {port} up"), None));
        steps.push(ip(Place::Switch, format!("link set dev {port} master {SWITCH}"), None));
    }
    steps
}

/// The queue of one end.
fn queue(rate: LinkRate, dev: &str) -> Step {
    let (burst, limit) = bucket(rate);
    let (bits, burst, limit) = (rate.bits(), burst.0, limit.0);
    let args = format!(
        "qdisc add dev {dev} root handle 10: tbf rate {bits}bit burst {burst} limit {limit}"
    );
    Step { tool: "tc", args, module: Some("sch_tbf") }
}

/// A token bucket and its queue. Both are 32 bits wide in the kernel (`struct tc_tbf_qopt`).
pub(crate) fn bucket(rate: LinkRate) -> (Bytes, Bytes) {
    let of = |length: Duration, least: Bytes| rate.within(length).clamp(least, Bytes::mib(256));
    let burst = of(LinkRate::BURST, Bytes::kib(16));
    // Room for one whole GSO segment at least: else no full one could ever pass.
    (burst, burst + of(LinkRate::QUEUE, Bytes::kib(128)))
}

impl Step {
    /// Runs it inside the namespace at `net`, which is that of `host`, and returns what it printed.
    ///
    /// # Errors
    /// [`LabError::Enter`], [`LabError::Tool`].
    pub(crate) fn run(&self, host: &str, net: &Path) -> Result<String, LabError> {
        let enter = |source| LabError::Enter { host: host.to_owned(), source };
        in_net(net, || said(self.tool, &self.args)).map_err(enter)?.map_err(|error| {
            LabError::Tool {
                host: host.to_owned(),
                command: format!("{} {}", self.tool, self.args),
                said: error.to_string(),
                module: self.module,
            }
        })
    }
}

/// What a tool printed; what it complained of is the error.
pub(crate) fn said(tool: &str, args: &str) -> io::Result<String> {
    let output = |program: &Path| {
        let mut command = Command::new(program);
        command.args(args.split(' ')).env("LC_ALL", "C").stdin(Stdio::null()).output()
    };
    let mut ran = output(Path::new(tool));
    for dir in SBIN {
        if ran.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            ran = output(&Path::new(dir).join(tool));
        }
    }
    let ran = ran?;
    if ran.status.success() {
        return Ok(String::from_utf8_lossy(&ran.stdout).into_owned());
    }
    let complaint = flat(&String::from_utf8_lossy(&ran.stderr));
    Err(io::Error::other(if complaint.is_empty() { ran.status.to_string() } else { complaint }))
}
