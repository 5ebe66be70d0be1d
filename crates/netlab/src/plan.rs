//! What a lab is to be: hosts, their settings, and the links between them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use records::{Bytes, ParseUnitError};
use serde::{Deserialize, Serialize};

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
    pub name: &'static str,
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
