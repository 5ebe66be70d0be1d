//! A lab that is up.

use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::LabError;
use crate::links::{self, Place, Step};
use crate::outside::Outside;
use crate::plan::{SWITCH, addr};
use crate::tool::Tool;
use crate::{
    HostPlan, HostReadBack, LabPlan, LabReadBack, NetId, Program, Stray, enter, read_back,
};

mod keep;

use keep::Holder;

/// Hosts on one switch, each with its own network. It ends when this is dropped, or when the process
/// ends in any other way, and every process that is still inside ends with it.
#[derive(Debug)]
pub struct Lab {
    hosts: Vec<Host>,
    switch: Holder,
    plan: LabPlan,
}

/// A host of a lab.
#[derive(Debug)]
pub struct Host {
    plan: HostPlan,
    addr: IpAddr,
    holder: Holder,
    program: Program,
}

/// How long a packet may take to the next host and back: the first one may be lost while a port comes
/// up, and is sent again after 1 s.
const PATIENCE: Duration = Duration::from_secs(10);

/// A port that nobody listens on in a new namespace: discard, of RFC 863.
const NOBODY: u16 = 9;

impl Lab {
    /// Builds it with this process' own program as holder, and returns when every link has carried a
    /// packet both ways: in a fraction of a second, unless the kernel still cleans up after others.
    ///
    /// # Errors
    /// See [`LabError`]; nothing of the lab is left then.
    pub fn up(plan: &LabPlan) -> Result<Self, LabError> {
        Self::up_with(plan, &Program::own())
    }

    /// [`Lab::up`] with another program as holder and hop.
    ///
    /// # Errors
    /// See [`LabError`]; nothing of the lab is left then.
    pub fn up_with(plan: &LabPlan, program: &Program) -> Result<Self, LabError> {
        plan.check()?;
        Tool::Ip.find()?;
        Tool::Tc.find()?;
        let outside = Outside::read(plan);
        let lab = Self::hold(plan, program);
        // Before anything else, and also when a holder failed halfway.
        outside.must_be_as_before()?;
        let lab = lab?;
        let pids: Vec<u32> = lab.hosts.iter().map(Host::pid).collect();
        for step in links::steps(plan, &pids) {
            lab.take(&step)?;
        }
        lab.each_reaches_the_next()?;
        Ok(lab)
    }

    /// Starts all holders, and then waits for each.
    fn hold(plan: &LabPlan, program: &Program) -> Result<Self, LabError> {
        let mut switch = Holder::start(&HostPlan::named(SWITCH), program)?;
        let host = |(index, plan): (usize, &HostPlan)| {
            let holder = Holder::start(plan, program)?;
            Ok(Host { plan: plan.clone(), addr: addr(index), holder, program: program.clone() })
        };
        let hosts: Result<Vec<Host>, LabError> = plan.hosts.iter().enumerate().map(host).collect();
        let mut hosts = hosts?;
        switch.wait_until_ready()?;
        for host in &mut hosts {
            host.holder.wait_until_ready()?;
        }
        Ok(Self { hosts, switch, plan: plan.clone() })
    }

    fn take(&self, step: &Step) -> Result<(), LabError> {
        let holder = match step.place {
            Place::Switch => Some(&self.switch),
            Place::Host(index) => self.hosts.get(index).map(|host| &host.holder),
        };
        let holder = holder.ok_or_else(|| LabError::NoSuchHost(format!("{:?}", step.place)))?;
        let host = || holder.name().to_owned();
        let ran = step.tool.run(&holder.net_path(), &step.args);
        ran.map_err(|source| LabError::Enter { host: host(), source })?.map_err(|said| {
            let command = format!("{} {}", step.tool.name(), step.args.join(" "));
            LabError::Tool { host: host(), command, said, module: step.module }
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
    /// A holder was killed by somebody, or ip(8) or tc(8) fail.
    pub fn read_back(&self) -> Result<LabReadBack, LabError> {
        let switch = self.switch.net_path();
        let host = |host: &Host| {
            let (name, net) = (host.name(), host.net_path());
            let enter = |source| LabError::Enter { host: name.to_owned(), source };
            Ok(HostReadBack {
                name: name.to_owned(),
                addr: host.addr,
                net: NetId::of_path(&net).map_err(enter)?,
                holder: host.pid(),
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

    /// Ends it, as a drop does, and tells which processes were still inside, with their host's name.
    pub fn down(mut self) -> Vec<(String, Stray)> {
        self.end()
    }

    fn end(&mut self) -> Vec<(String, Stray)> {
        let Self { hosts, switch, .. } = self;
        let mut holders: Vec<&mut Holder> = hosts.iter_mut().map(|host| &mut host.holder).collect();
        holders.push(switch);
        // All at once, then wait: each may have something to end.
        for holder in &mut holders {
            holder.let_go();
        }
        let deadline = Instant::now() + PATIENCE;
        let ended = holders.into_iter().flat_map(|holder| {
            let strays = holder.finish(deadline);
            strays.into_iter().map(|stray| (holder.name().to_owned(), stray)).collect::<Vec<_>>()
        });
        ended.collect()
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

    /// The namespace file, for [`crate::enter_net`]: good as long as the lab is up.
    pub fn net_path(&self) -> PathBuf {
        self.holder.net_path()
    }

    /// The process that holds the namespace, for programs that take a number, as `nsenter -n -t PID`.
    pub fn pid(&self) -> u32 {
        self.holder.pid()
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
