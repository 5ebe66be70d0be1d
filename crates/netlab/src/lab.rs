//! A lab that is up.

use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::LabError;
use crate::links::{self, Place, Step};
use crate::namespace::Namespace;
use crate::outside::Outside;
use crate::plan::{SWITCH, addr};
use crate::tool::Tool;
use crate::{
    HostPlan, HostReadBack, LabPlan, LabReadBack, NetId, Orphan, Program, enter, orphans, read_back,
};

/// Hosts on one switch, each with its own network. It ends when this is dropped, and every process
/// that is still inside ends with it.
#[derive(Debug)]
pub struct Lab {
    hosts: Vec<Host>,
    switch: Namespace,
    plan: LabPlan,
}

/// A host of a lab.
#[derive(Debug)]
pub struct Host {
    plan: HostPlan,
    addr: IpAddr,
    net: Namespace,
    program: Program,
}

/// How long a packet may take to the next host and back: the first one may be lost while a port comes
/// up, and is sent again after 1 s.
const PATIENCE: Duration = Duration::from_secs(10);

/// A port that nobody listens on in a new namespace: discard, of RFC 863.
const NOBODY: u16 = 9;

impl Lab {
    /// Builds it with this process' own program as hop, and returns when every link has carried a
    /// packet both ways: in a fraction of a second, unless the kernel still cleans up after others.
    ///
    /// # Errors
    /// See [`LabError`]; nothing of the lab is left then.
    pub fn up(plan: &LabPlan) -> Result<Self, LabError> {
        Self::up_with(plan, &Program::own())
    }

    /// [`Lab::up`] with another program as hop.
    ///
    /// # Errors
    /// See [`LabError`]; nothing of the lab is left then.
    pub fn up_with(plan: &LabPlan, program: &Program) -> Result<Self, LabError> {
        plan.check()?;
        Tool::Ip.find()?;
        Tool::Tc.find()?;
        let outside = Outside::read(plan);
        let lab = Self::unlinked(plan, program);
        // Before anything else, and also when a host failed halfway.
        outside.must_be_as_before()?;
        let lab = lab?;
        let nets: Vec<PathBuf> = lab.hosts.iter().map(Host::net_path).collect();
        for step in links::steps(plan, &nets) {
            lab.take(&step)?;
        }
        lab.each_reaches_the_next()?;
        Ok(lab)
    }

    /// The hosts with their settings, and no links yet.
    fn unlinked(plan: &LabPlan, program: &Program) -> Result<Self, LabError> {
        let switch = Namespace::new(SWITCH, &[])?;
        let host = |(index, plan): (usize, &HostPlan)| {
            let net = Namespace::new(&plan.name, &plan.sysctls)?;
            Ok(Host { plan: plan.clone(), addr: addr(index), net, program: program.clone() })
        };
        let hosts: Result<_, LabError> = plan.hosts.iter().enumerate().map(host).collect();
        Ok(Self { hosts: hosts?, switch, plan: plan.clone() })
    }

    fn take(&self, step: &Step) -> Result<(), LabError> {
        let (host, net) = match step.place {
            Place::Switch => (SWITCH, &self.switch),
            Place::Host(index) => {
                let host = self.hosts.get(index);
                let host = host.ok_or_else(|| LabError::NoSuchHost(format!("{index}")))?;
                (host.name(), &host.net)
            }
        };
        let enter = |source| LabError::Enter { host: host.to_owned(), source };
        step.tool.run(&net.path(), &step.args).map_err(enter)?.map_err(|said| {
            let command = format!("{} {}", step.tool.name(), step.args.join(" "));
            LabError::Tool { host: host.to_owned(), command, said, module: step.module }
        })?;
        Ok(())
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
    ///
    /// # Errors
    /// There is none.
    pub fn host(&self, name: &str) -> Result<&Host, LabError> {
        let host = self.hosts.iter().find(|host| host.name() == name);
        host.ok_or_else(|| LabError::NoSuchHost(name.to_owned()))
    }

    /// All hosts, in the order of the plan.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// What the lab is, asked of the kernel.
    ///
    /// # Errors
    /// ip(8) or tc(8) fail.
    pub fn read_back(&self) -> Result<LabReadBack, LabError> {
        let switch = self.switch.path();
        let host = |host: &Host| {
            let (name, net) = (host.name(), host.net_path());
            let enter = |source| LabError::Enter { host: name.to_owned(), source };
            Ok(HostReadBack {
                name: name.to_owned(),
                addr: host.addr,
                net: host.net.id(),
                net_path: net.clone(),
                addresses: read_back::addresses(name, &net)?,
                uplink: read_back::uplink(name, &net)?,
                downlink: read_back::queues(SWITCH, &switch, name)?,
                sysctls: read_back::sysctls(&host.plan, &net).map_err(enter)?,
            })
        };
        let hosts: Result<_, LabError> = self.hosts.iter().map(host).collect();
        Ok(LabReadBack {
            rate_bits_per_sec: self.plan.rate,
            delay_us: self.plan.delay,
            hosts: hosts?,
        })
    }

    /// Ends it, as a drop does, and tells which processes were still inside.
    pub fn down(mut self) -> Vec<Orphan> {
        self.end()
    }

    fn end(&mut self) -> Vec<Orphan> {
        let hosts = std::mem::take(&mut self.hosts);
        let mut nets: Vec<(&str, NetId)> =
            hosts.iter().map(|host| (host.name(), host.net.id())).collect();
        nets.push((SWITCH, self.switch.id()));
        orphans::end_all(&nets, Instant::now() + PATIENCE)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.end();
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

    /// The namespace file, for [`crate::enter_net`] and `nsenter --net=FILE`: good as long as the lab is
    /// up.
    pub fn net_path(&self) -> PathBuf {
        self.net.path()
    }

    /// The words that, before a program and its arguments, run it on this host: `[...] nginx -c x`.
    ///
    /// The process that is started becomes the program: same id, same parent. It must be started by
    /// this process, and is killed when the thread that started it ends (prctl(2),
    /// PR_SET_PDEATHSIG): start it from one that lives as long as it shall.
    pub fn enter(&self) -> Vec<OsString> {
        self.program.enter_words(&self.net_path())
    }

    /// Whether a packet gets there and an answer back.
    fn reaches(&self, other: IpAddr) -> io::Result<()> {
        let tried = enter::in_net(&self.net_path(), || {
            TcpStream::connect_timeout(&SocketAddr::from((other, NOBODY)), PATIENCE)
        })?;
        match tried {
            Err(error) if error.kind() != io::ErrorKind::ConnectionRefused => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}
