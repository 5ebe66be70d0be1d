//! What a lab is to be: hosts, their settings, and the links between them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::str::FromStr;

use records::Micros;
use serde::{Deserialize, Serialize};

use crate::LinkRate;

/// A lab, as asked for. All links are alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabPlan {
    /// The hosts in the order of their addresses; 1 to [`LabPlan::MAX_HOSTS`].
    pub hosts: Vec<HostPlan>,
    /// What each link carries at most, in each direction. Default: all that the CPUs can.
    #[serde(default)]
    pub rate: Option<LinkRate>,
    /// What a packet takes from any host to any other, besides its time in queues; a round trip
    /// takes twice that. Default: none. Needs the kernel module `sch_netem`.
    #[serde(default)]
    pub delay: Option<Micros>,
}

/// A host, as asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPlan {
    /// Its name: 1 to 15 of a to z, 0 to 9 and -, a letter first; also the name of its port at the
    /// switch.
    pub name: String,
    /// Settings of its own, written in this order before it has a link.
    #[serde(default)]
    pub sysctls: Vec<Sysctl>,
}

impl LabPlan {
    /// Hosts of one lab at most: a rack, not a data centre.
    pub const MAX_HOSTS: usize = 64;

    /// A delay at most: more is longer than any cap here.
    pub const MAX_DELAY: Micros = Micros(10_000_000);

    /// Hosts with these names, no settings, and links as fast as they can be.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let hosts = names.into_iter().map(HostPlan::named).collect();
        Self { hosts, rate: None, delay: None }
    }

    /// The host with this name, to give it settings.
    pub fn host_mut(&mut self, name: &str) -> Option<&mut HostPlan> {
        self.hosts.iter_mut().find(|host| host.name == name)
    }

    /// Whether it can be built.
    ///
    /// # Errors
    /// No host or too many, a name that is taken or cannot be a link's, a delay that is too long.
    pub fn check(&self) -> Result<(), PlanError> {
        if self.hosts.is_empty() || self.hosts.len() > Self::MAX_HOSTS {
            return Err(PlanError::Hosts(self.hosts.len()));
        }
        for (index, host) in self.hosts.iter().enumerate() {
            if !is_host_name(&host.name) {
                return Err(PlanError::Name(host.name.clone()));
            }
            if self.hosts.iter().take(index).any(|other| other.name == host.name) {
                return Err(PlanError::Twice(host.name.clone()));
            }
        }
        match self.delay {
            Some(delay) if delay > Self::MAX_DELAY => Err(PlanError::Delay(delay)),
            _ => Ok(()),
        }
    }
}

impl HostPlan {
    /// A host without settings of its own.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), sysctls: Vec::new() }
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

/// A link's name has 15 bytes at most (IFNAMSIZ, netdevice(7)); some words mean something else to
/// ip(8) or to sysctl.
fn is_host_name(name: &str) -> bool {
    let taken = [SWITCH, "lo", "all", "default", "dev", "type", "group", "any", "none"];
    name.len() <= 15
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        && !taken.contains(&name)
}

/// One setting of a host, as `net.ipv4.tcp_rmem=40960 40960 40960`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sysctl {
    name: String,
    value: String,
}

impl Sysctl {
    /// Sets `name` to `value`; any white space in the value is one space.
    ///
    /// # Errors
    /// The name is not one of `net.*`: nothing else belongs to a network namespace.
    pub fn new(name: &str, value: &str) -> Result<Self, PlanError> {
        let part = |part: &str| {
            !part.is_empty()
                && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        };
        let parts = name.split('.').count();
        if !name.starts_with("net.") || parts < 3 || !name.split('.').all(part) {
            return Err(PlanError::SysctlName(name.to_owned()));
        }
        let value = flat(value);
        if value.is_empty() {
            return Err(PlanError::SysctlValue(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), value })
    }

    /// Its name, as sysctl(8) writes it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is to be.
    pub fn value(&self) -> &str {
        &self.value
    }
}

/// The file of a sysctl, proc_sys(5): it is that of the thread's own network namespace.
pub(crate) fn sysctl_path(name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/sys/{}", name.replace('.', "/")))
}

/// The kernel puts tabs between numbers, people spaces.
pub(crate) fn flat(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl fmt::Display for Sysctl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

impl FromStr for Sysctl {
    type Err = PlanError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((name, value)) => Self::new(name.trim(), value),
            None => Err(PlanError::SysctlValue(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Sysctl {
    type Error = PlanError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Sysctl> for String {
    fn from(sysctl: Sysctl) -> Self {
        sysctl.to_string()
    }
}

/// A plan that cannot be built, whatever the host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// None or too many.
    #[error("a lab has 1 to {max} hosts, not {0}", max = LabPlan::MAX_HOSTS)]
    Hosts(usize),
    /// Not a name.
    #[error(
        "{0:?} cannot be a host's name: take 1 to 15 of a-z, 0-9 and -, and no word of the network's own"
    )]
    Name(String),
    /// A name that is taken.
    #[error("two hosts are named {0:?}")]
    Twice(String),
    /// Too long.
    #[error("a delay of {0} is too long: take {max} at most", max = LabPlan::MAX_DELAY)]
    Delay(Micros),
    /// Not a setting of a network namespace.
    #[error("{0:?} is not a setting of a network namespace: write it as net.ipv4.tcp_rmem")]
    SysctlName(String),
    /// No value.
    #[error("{0:?} has no value: write it as net.ipv4.tcp_rmem=4096 131072 6291456")]
    SysctlValue(String),
}

#[cfg(test)]
mod tests;
