//! A lab that is up; and what it is, asked of the kernel, for a run's `network.json`, beside what was asked
//! for.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use net::role::in_net;
use serde::{Deserialize, Serialize};

use crate::namespace::{Namespace, end_all};
use crate::plan::{IP, Place, SWITCH, Step, addr, flat, said, steps, sysctl_path};
use crate::{HostPlan, LabError, LabPlan, NetId};

/// Hosts on one switch, each with its own network. It ends when this is dropped, and every process
/// that is still inside ends with it.
#[derive(Debug)]
pub struct Lab {
    hosts: Vec<Host>,
    switch: Namespace,
}

/// A host of a lab.
#[derive(Debug)]
pub struct Host {
    plan: HostPlan,
    addr: IpAddr,
    net: Namespace,
}

/// How long a packet may take to the next host and back: the first one may be lost while a port comes
/// up, and is sent again after 1 s.
const PATIENCE: Duration = Duration::from_secs(10);

/// A port that nobody listens on in a new namespace: discard, of RFC 863.
const NOBODY: u16 = 9;

impl Lab {
    /// Builds it, and returns when every link has carried a packet both ways: in a fraction of a second,
    /// unless the kernel still cleans up after others.
    ///
    /// # Errors
    /// See [`LabError`]; nothing of the lab is left then.
    pub fn up(plan: &LabPlan) -> Result<Self, LabError> {
        said("-V").map_err(|_| LabError::NoTool(IP))?;
        let lab = Self::unlinked(plan)?;
        let nets: Vec<PathBuf> = lab.hosts.iter().map(Host::net_path).collect();
        for (place, step) in steps(plan, &nets) {
            let host = match place {
                Place::Host(index) => lab.hosts.get(index),
                Place::Switch => None,
            };
            let (name, net) = host.map_or((SWITCH, &lab.switch), |host| (host.name(), &host.net));
            step.run(name, &net.path())?;
        }
        lab.each_reaches_the_next()?;
        Ok(lab)
    }

    /// The hosts with their settings, and no links yet.
    fn unlinked(plan: &LabPlan) -> Result<Self, LabError> {
        let switch = Namespace::new(SWITCH, &[])?;
        let host = |(index, plan): (usize, &HostPlan)| {
            let net = Namespace::new(&plan.name, &plan.sysctls)?;
            Ok(Host { plan: plan.clone(), addr: addr(index), net })
        };
        let hosts: Result<_, LabError> = plan.hosts.iter().enumerate().map(host).collect();
        Ok(Self { hosts: hosts?, switch })
    }

    /// Connects each host to the next, and the last to the first: a refusal is an answer. By then the
    /// ports forward, and every pair of neighbours knows the other's address.
    fn each_reaches_the_next(&self) -> Result<(), LabError> {
        let next = self.hosts.iter().cycle().skip(1);
        thread::scope(|scope| {
            let tried: Vec<_> = self
                .hosts
                .iter()
                .zip(next)
                .map(|(from, to)| (from, to, scope.spawn(|| from.reaches(to.addr))))
                .collect();
            tried.into_iter().try_for_each(|(from, to, tried)| {
                let broken = |_| Err(io::Error::other("the attempt panicked"));
                tried.join().unwrap_or_else(broken).map_err(|source| LabError::Unreachable {
                    from: from.name().to_owned(),
                    to: to.name().to_owned(),
                    source,
                })
            })
        })
    }

    /// The host with this name.
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.hosts.iter().find(|host| host.name() == name)
    }

    /// What the lab is, asked of the kernel.
    ///
    /// # Errors
    /// ip(8) fails.
    pub fn read_back(&self) -> Result<LabReadBack, LabError> {
        let host = |host: &Host| {
            let (name, net) = (host.name(), host.net_path());
            Ok(HostReadBack {
                name: name.to_owned(),
                addr: host.addr,
                net: host.net.id(),
                net_path: net.clone(),
                addresses: addresses(name, &net)?,
                sysctls: sysctls(&host.plan, &net)?,
            })
        };
        let hosts: Result<_, LabError> = self.hosts.iter().map(host).collect();
        Ok(LabReadBack { hosts: hosts? })
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let mut nets: Vec<NetId> = self.hosts.iter().map(|host| host.net.id()).collect();
        nets.push(self.switch.id());
        end_all(&nets, Instant::now() + PATIENCE);
    }
}

impl Host {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.plan.name
    }

    /// Its address: 10.77.0.1 and up. It exists inside the lab only.
    pub fn addr(&self) -> IpAddr {
        self.addr
    }

    /// The namespace file, for [`net::role::RoleOptions::net`], [`net::role::enter_net`] and
    /// `nsenter --net=FILE`: good as long as the lab is up.
    pub fn net_path(&self) -> PathBuf {
        self.net.path()
    }

    /// Whether a packet gets there and an answer back.
    fn reaches(&self, other: IpAddr) -> io::Result<()> {
        let tried = in_net(&self.net_path(), || {
            TcpStream::connect_timeout(&SocketAddr::from((other, NOBODY)), PATIENCE)
        })?;
        match tried {
            Err(error) if error.kind() != io::ErrorKind::ConnectionRefused => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

/// A lab, as the kernel has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabReadBack {
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
    let mut names: Vec<&str> = plan.sysctls.iter().map(|sysctl| sysctl.name.as_str()).collect();
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

/// Every IPv4 address of a host.
pub(crate) fn addresses(host: &str, net: &Path) -> Result<Vec<String>, LabError> {
    let args = "-oneline -4 address show".to_owned();
    let text = Step { args, module: None }.run(host, net)?;
    // "2: eth0    inet 10.77.0.1/24 scope global eth0\ ..."
    let address = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        Some(format!("{} {}", words.next()?, words.nth(1)?))
    };
    Ok(text.lines().filter_map(address).collect())
}
