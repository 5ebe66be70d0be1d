//! Hosts in network namespaces that end with the process that made them.
//!
//! A [`Lab`] is a few hosts on one switch, as a rack of small machines would be: each host has TCP settings
//! of its own and an address that exists only inside. A namespace has no name, no file system entry and no
//! process: an open file of the caller keeps it, and with it go its links and settings
//! (`network_namespaces(7)`). A veth pair joins each host (`eth0`) with a port of the switch, a bridge in a
//! namespace of its own; pairs are made inside the switch's namespace with the other end straight in the
//! host's.
//!
//! Not for: how a program gets inside (a role enters by itself, see `net::role`), CPUs, file systems, or hosts that must reach the outside.
//!
//! Invariants:
//! - The namespace of the caller is never changed: no link, address or setting in it.
//! - A lab that ends takes along every process that is still inside. If the caller is killed, its
//!   roles inside die with it (`net::role`), and the namespaces with the last of them.
//! - A lab that is up has carried a packet both ways over every link.
//!
//! Facts about these links that bear on a measurement:
//! - A veth link hands on segments of up to 64 KiB as one (GSO), as a card with TSO does.
//! - A packet is received on the CPU that sent it, as on loopback.
//! - A new namespace inherits the caller's congestion control and `tcp_rmem` as they are, but not
//!   its qdisc: a link has no queue.
//! - A process that reads `/proc/net` from a thread that has entered a namespace must read
//!   `/proc/thread-self/net`: `/proc/net` is that of its main thread.

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use net::process;
use net::role::in_net;
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use serde::{Deserialize, Serialize};

/// A host, as asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostPlan {
    /// Its name, which is also that of its port at the switch: one that a link can have, 1 to 15
    /// letters (IFNAMSIZ, netdevice(7)), and not `switch`.
    pub name: String,
    /// Settings of its own by name, as sysctl(8) writes it: `net.ipv4.tcp_rmem`. They must be of those that
    /// each network namespace has for itself, and are made in this order before it has a link.
    pub sysctls: Vec<(String, String)>,
}

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
/// The switch's name; no host can have it.
const SWITCH: &str = "switch";

impl Lab {
    /// Builds it, and returns when every link has carried a packet both ways: in a fraction of a second,
    /// unless the kernel still cleans up after others.
    ///
    /// # Errors
    /// There is no right to make namespaces or no ip(8), or one of the two refused something; the message tells
    /// how to mend it. Nothing of the lab is left then.
    pub fn up(plan: &[HostPlan]) -> io::Result<Self> {
        let switch = Namespace::new(SWITCH, &[])?;
        let host = |(last, plan): (u8, &HostPlan)| {
            let net = Namespace::new(&plan.name, &plan.sysctls)?;
            Ok(Host { plan: plan.clone(), addr: Ipv4Addr::new(10, 77, 0, last).into(), net })
        };
        let hosts: io::Result<_> = (1..).zip(plan).map(host).collect();
        let lab = Self { hosts: hosts?, switch };
        lab.wire()?;
        // A refusal is an answer. By then the ports forward, and neighbours know each other's address.
        for (from, to) in lab.hosts.iter().zip(lab.hosts.iter().cycle().skip(1)) {
            from.reaches(to.addr)
                .map_err(failed(from.name(), &format!("reach host {}", to.name())))?;
        }
        Ok(lab)
    }

    fn wire(&self) -> io::Result<()> {
        let on_switch = |args: String| ip_in(SWITCH, &self.switch.path(), &args);
        on_switch(format!("link add name {SWITCH} type bridge"))?;
        on_switch(format!("link set dev {SWITCH} up"))?;
        for host in &self.hosts {
            let (port, net) = (host.name(), host.net_path());
            let inside = |args: &str| ip_in(port, &net, args);
            let net = net.display();
            on_switch(format!("link add name {port} type veth peer name eth0 netns {net}"))?;
            inside("link set dev lo up")?;
            inside(&format!("address add {}/24 dev eth0", host.addr))?;
            inside("link set dev eth0 up")?;
            on_switch(format!("link set dev {port} up"))?;
            on_switch(format!("link set dev {port} master {SWITCH}"))?;
        }
        Ok(())
    }

    /// The host with this name.
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.hosts.iter().find(|host| host.name() == name)
    }

    /// What the lab is, asked of the kernel.
    ///
    /// # Errors
    /// A host cannot be entered.
    pub fn read_back(&self) -> io::Result<LabReadBack> {
        let hosts: io::Result<_> = self.hosts.iter().map(Host::read_back).collect();
        Ok(LabReadBack { hosts: hosts? })
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let nets: Vec<u64> = self.hosts.iter().map(|host| host.net.inode).collect();
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
        let dial = || TcpStream::connect_timeout(&SocketAddr::new(other, NOBODY), PATIENCE);
        match in_net(&self.net_path(), dial)? {
            Err(error) if error.kind() != io::ErrorKind::ConnectionRefused => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn read_back(&self) -> io::Result<HostReadBack> {
        let asked = &self.plan.sysctls;
        let mut names: Vec<&str> = asked.iter().map(|(name, _)| name.as_str()).collect();
        names.extend(WATCHED);
        names.sort_unstable();
        names.dedup();
        let read = |name: &str| {
            let effective = process::sysctl(name)?;
            let requested = asked.iter().rfind(|(asked, _)| asked == name);
            let requested = requested.map(|(_, value)| value.clone());
            Some(SysctlReadBack { name: name.to_owned(), requested, effective })
        };
        let read = || names.iter().filter_map(|name| read(name)).collect();
        let sysctls = in_net(&self.net_path(), read);
        Ok(HostReadBack {
            name: self.name().to_owned(),
            addr: self.addr,
            net: self.net.inode,
            sysctls: sysctls.map_err(failed(self.name(), "read the settings"))?,
        })
    }
}

/// A lab, as the kernel has it: a run's `network.json`.
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
    /// Its namespace: the number in `net:[4026531840]`, as lsns(8) and readlink(1) tell it.
    pub net: u64,
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

/// That something could not be done on `host`, or on the switch. Of a namespace EINVAL means that the kernel has
/// none (CONFIG_NET_NS); of a setting ENOENT, that it has no such one, or one for the whole machine.
fn failed(host: &str, what: &str) -> impl FnOnce(io::Error) -> io::Error {
    let what = format!("failed to {what} on host {host}");
    move |source| io::Error::new(source.kind(), format!("{what}: {source}"))
}

/// No right to make namespaces.
const NOT_ALLOWED: &str = "network namespaces need root (CAP_SYS_ADMIN): run this as root or with sudo, or put \
                           'unshare --map-root-user' before the command where the kernel allows user namespaces";

/// That of the calling thread.
const OWN: &str = "/proc/thread-self/ns/net";

/// A network namespace of ours, which lives at least as long as this. A thread moves into a new one, makes its
/// settings, opens it and ends.
#[derive(Debug)]
struct Namespace {
    file: File,
    /// Which one it is, on this host while it lives (namespaces(7)).
    inode: u64,
}

impl Namespace {
    /// Makes one for `host`. It waits for the kernel to have cleaned up after others.
    fn new(host: &str, sysctls: &[(String, String)]) -> io::Result<Self> {
        thread::scope(|scope| {
            // unshare(2) moves the thread that calls it, and no other.
            let made = thread::Builder::new().name("netns".into()).spawn_scoped(scope, || {
                let made = Self::of_this_thread();
                let namespace = made.map_err(failed(host, "make a network namespace"))?;
                for (name, value) in sysctls {
                    // Opened to write, never created: procfs has no files of ours.
                    let file = File::options().write(true).open(process::sysctl_path(name));
                    let set = file.and_then(|mut file| file.write_all(value.as_bytes()));
                    set.map_err(failed(host, &format!("set \"{name}={value}\"")))?;
                }
                Ok(namespace)
            });
            let panicked = |_| Err(io::Error::other("the thread inside a new network panicked"));
            made?.join().unwrap_or_else(panicked)
        })
    }

    fn of_this_thread() -> io::Result<Self> {
        let outside = fs::metadata(OWN)?.ino();
        unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| match errno {
            Errno::EPERM => io::Error::new(io::ErrorKind::PermissionDenied, NOT_ALLOWED),
            other => other.into(),
        })?;
        let file = File::open(OWN)?;
        let inode = file.metadata()?.ino();
        // All that is inside will be ended one day: be sure that it is not the host itself.
        if inode == outside {
            return Err(io::Error::other("the kernel left the thread where it was"));
        }
        Ok(Self { file, inode })
    }

    /// The file by which other processes and threads enter it, as long as this lives.
    fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()))
    }
}

/// Ends every process whose main thread is in one of these namespaces, until none is left or the time
/// is up: one that is still inside when its lab ends, such as a worker whose master was killed, would
/// keep it.
///
/// They must be namespaces that we made (whoever is inside was put there through us), and something
/// must keep them.
fn end_all(nets: &[u64], deadline: Instant) {
    let is_inside = |pid: i32| {
        fs::metadata(format!("/proc/{pid}/ns/net")).is_ok_and(|net| nets.contains(&net.ino()))
    };
    let inside = || process::pids().filter(|pid| is_inside(*pid)).collect();
    process::end_all(inside, is_inside, deadline);
}

/// Runs ip(8) in the namespace at `net`, which is that of `host`.
fn ip_in(host: &str, net: &Path, args: &str) -> io::Result<()> {
    let ran = in_net(net, || ip(args)).and_then(|ran| ran);
    ran.map_err(failed(host, &format!("run 'ip {args}'")))
}

/// Runs ip(8); what it complains of is the error.
fn ip(args: &str) -> io::Result<()> {
    /// Distributions put it where PATH, as that of a plain user, does not look.
    const PLACES: [&str; 3] = ["ip", "/usr/sbin/ip", "/sbin/ip"];
    let run = |program: &str| {
        let mut command = Command::new(program);
        command.args(args.split(' ')).env("LC_ALL", "C").stdin(Stdio::null()).output()
    };
    let is_there = |ran: &io::Result<_>| {
        ran.as_ref().map_or_else(|error| error.kind() != io::ErrorKind::NotFound, |_| true)
    };
    let no_tool = || io::Error::other("there is no such program: install the package iproute2");
    let ran = PLACES.into_iter().map(run).find(is_there).ok_or_else(no_tool)??;
    if ran.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    Err(io::Error::other(match said.trim() {
        "" => ran.status.to_string(),
        said if said.contains("Unknown device type") => {
            format!("{said} (it needs the kernel modules bridge and veth)")
        }
        said => said.to_owned(),
    }))
}
