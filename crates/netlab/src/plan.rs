//! What a lab is to be: hosts, their settings, and the links between them; and the commands of ip(8) that
//! make them so.
//!
//! A veth pair joins each host (`eth0`) with a port of the switch, a bridge in a namespace of its own.
//! Pairs are made inside the switch's namespace with the other end straight in the host's: no link
//! is ever seen in the caller's.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use net::role::in_net;

use crate::LabError;

/// A lab, as asked for. All links are alike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabPlan {
    /// The hosts in the order of their addresses: 254 at most.
    pub hosts: Vec<HostPlan>,
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
    /// Hosts with these names and no settings.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let host = |name: &str| HostPlan { name: name.to_owned(), sysctls: Vec::new() };
        Self { hosts: names.into_iter().map(host).collect() }
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

/// One command of ip(8) inside a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
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

/// The program that is needed.
pub(crate) const IP: &str = "ip";

/// Where distributions put it when PATH, as that of a plain user, has no sbin.
const SBIN: [&str; 2] = ["/usr/sbin", "/sbin"];

/// Everything to be done, in order. `nets`: the namespace files of the hosts, in the order of the plan;
/// ip(8) takes a path where it takes a name.
pub(crate) fn steps(plan: &LabPlan, nets: &[PathBuf]) -> Vec<(Place, Step)> {
    let ip = |place, args: String, module| (place, Step { args, module });
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
        steps.push(ip(place, format!("link set dev {UPLINK} up"), None));
        steps.push(ip(Place::Switch, format!("link set dev {port} up"), None));
        steps.push(ip(Place::Switch, format!("link set dev {port} master {SWITCH}"), None));
    }
    steps
}

impl Step {
    /// Runs it inside the namespace at `net`, which is that of `host`, and returns what it printed.
    ///
    /// # Errors
    /// [`LabError::Enter`], [`LabError::Tool`].
    pub(crate) fn run(&self, host: &str, net: &Path) -> Result<String, LabError> {
        let enter = |source| LabError::Enter { host: host.to_owned(), source };
        in_net(net, || said(&self.args)).map_err(enter)?.map_err(|error| LabError::Tool {
            host: host.to_owned(),
            command: format!("{IP} {}", self.args),
            said: error.to_string(),
            module: self.module,
        })
    }
}

/// What ip(8) printed; what it complained of is the error.
pub(crate) fn said(args: &str) -> io::Result<String> {
    let output = |program: &Path| {
        let mut command = Command::new(program);
        command.args(args.split(' ')).env("LC_ALL", "C").stdin(Stdio::null()).output()
    };
    let mut ran = output(Path::new(IP));
    for dir in SBIN {
        if ran.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            ran = output(&Path::new(dir).join(IP));
        }
    }
    let ran = ran?;
    if ran.status.success() {
        return Ok(String::from_utf8_lossy(&ran.stdout).into_owned());
    }
    let complaint = flat(&String::from_utf8_lossy(&ran.stderr));
    Err(io::Error::other(if complaint.is_empty() { ran.status.to_string() } else { complaint }))
}
