//! What a lab is, asked of the kernel: for a run's `network.json`, beside what was asked for.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use net::role::in_net;
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::links::Step;
use crate::plan::{HostPlan, flat, sysctl_path};
use crate::{LinkRate, NetId};

/// A lab, as the kernel has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabReadBack {
    /// What each link was to carry at most, in each direction.
    pub rate_bits_per_sec: Option<LinkRate>,
    /// The hosts in the order of the plan.
    pub hosts: Vec<HostReadBack>,
}

/// A host, as the kernel has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostReadBack {
    /// Its name.
    pub name: String,
    /// Its address.
    pub addr: IpAddr,
    /// Its namespace.
    pub net: NetId,
    /// The file by which it can be entered while the lab is up, as `nsenter --net=FILE` does.
    pub net_path: PathBuf,
    /// Every IPv4 address inside with its link, as `eth0 10.77.0.1/24`.
    pub addresses: Vec<String>,
    /// The queues for what it sends, as tc(8) prints them; `noqueue` when nothing limits it.
    pub uplink: Vec<String>,
    /// The queues of the switch for what it is sent.
    pub downlink: Vec<String>,
    /// Its settings: those asked for, and those that bear on throughput.
    pub sysctls: Vec<SysctlReadBack>,
}

/// A setting, as asked for and as the kernel has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SysctlReadBack {
    /// Its name, as `net.ipv4.tcp_rmem`.
    pub name: String,
    /// What it was to be; absent: nobody asked.
    pub requested: Option<String>,
    /// What it is, with single spaces.
    pub effective: String,
}

/// What is read back whether or not it was asked for: without it a run cannot be repeated.
const WATCHED: [&str; 8] = [
    "net.core.somaxconn",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
];

/// The settings of a host; one that this kernel does not have is left out.
pub(crate) fn sysctls(plan: &HostPlan, net: &Path) -> Result<Vec<SysctlReadBack>, LabError> {
    let asked = |name: &str| plan.sysctls.iter().rfind(|sysctl| sysctl.name == name);
    let mut names: Vec<&str> = plan.sysctls.iter().map(|sysctl| sysctl.name).collect();
    names.extend(WATCHED);
    names.sort_unstable();
    names.dedup();
    let read = |name: &str| {
        let effective = flat(&fs::read_to_string(sysctl_path(name)).ok()?);
        let requested = asked(name).map(|sysctl| sysctl.value.clone());
        Some(SysctlReadBack { name: name.to_owned(), requested, effective })
    };
    in_net(net, || names.iter().filter_map(|name| read(name)).collect())
        .map_err(|source| LabError::Enter { host: plan.name.clone(), source })
}

/// The queues of one end of a link.
pub(crate) fn queues(host: &str, net: &Path, dev: &str) -> Result<Vec<String>, LabError> {
    let text = ask(host, net, "tc", format!("qdisc show dev {dev}"))?;
    Ok(text.lines().map(flat).collect())
}

/// Every IPv4 address of a host.
pub(crate) fn addresses(host: &str, net: &Path) -> Result<Vec<String>, LabError> {
    let text = ask(host, net, "ip", "-oneline -4 address show".to_owned())?;
    // "2: eth0    inet 10.77.0.1/24 scope global eth0\ ..."
    let address = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        Some(format!("{} {}", words.next()?, words.nth(1)?))
    };
    Ok(text.lines().filter_map(address).collect())
}

fn ask(host: &str, net: &Path, tool: &'static str, args: String) -> Result<String, LabError> {
    Step { tool, args, module: None }.run(host, net)
}
