//! What every role does first and last: live no longer than its parent, run where it should, print
//! lines, say why it failed; and where load may go: this host, unless somebody says otherwise.

use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use records::{Record, Role, socket_addr};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getppid, getrlimit, set_parent_process_death_signal, setrlimit,
};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::{Deserialize, Serialize};

use crate::cpu::{self, CpuList};
use crate::terminal::printable;

/// Options that every role shares.
#[derive(Clone, Debug, Default, clap::Args, Serialize, Deserialize)]
pub struct RoleOptions {
    /// Run only on these CPUs, as 0, 0,2 or 0-3
    #[arg(long, value_name = "CPUS", help_heading = "Process")]
    pub cpus: Option<CpuList>,

    /// End when the process with this id, our parent, ends
    #[arg(long, value_name = "PID", hide = true, help_heading = "Process")]
    pub parent_pid: Option<i32>,

    /// Run in this network namespace, as /proc/4711/ns/net
    #[arg(long, value_name = "FILE", hide = true, help_heading = "Process")]
    #[serde(default)]
    pub net: Option<PathBuf>,

    /// Enter the control group that this file takes processes into, as /sys/fs/cgroup/x/cgroup.procs
    #[arg(long, value_name = "FILE", hide = true, help_heading = "Process")]
    #[serde(default)]
    pub cgroup: Option<PathBuf>,
}

impl RoleOptions {
    /// Those of a child of this process, which runs on `cpus`.
    pub fn of_child(cpus: Option<&CpuList>) -> Self {
        let parent_pid = i32::try_from(std::process::id()).ok();
        Self { cpus: cpus.cloned(), parent_pid, net: None, cgroup: None }
    }

    /// Applies them to the whole process: call it before any thread is started.
    /// Returns the soft limit of open descriptors, raised as far as allowed.
    ///
    /// # Errors
    /// The CPUs, the network namespace or the control group are not there, or the parent has ended already.
    pub fn enter(&self) -> io::Result<u64> {
        if let Some(parent) = self.parent_pid {
            end_with(parent, Signal::KILL)?;
        }
        if let Some(net) = &self.net {
            enter_net(net)?;
        }
        if let Some(procs) = &self.cgroup {
            // Zero is whoever writes it, with all its threads and children to come (cgroups(7)).
            std::fs::write(procs, "0")?;
        }
        if let Some(cpus) = &self.cpus {
            cpu::pin_current_thread(cpus.as_slice())?;
        }
        Ok(raise_open_files())
    }
}

/// The address under load, and the consent that any other host than this one needs.
#[derive(Clone, Debug, clap::Args, Serialize, Deserialize)]
pub struct TargetOptions {
    /// Address and port of the proxy, as 127.0.0.1:8000
    #[arg(value_name = "TARGET", value_parser = socket_addr)]
    pub target: SocketAddr,

    /// Allow a target that is not on this host; its load is capped
    #[arg(long, help_heading = "Safety")]
    pub allow_remote: bool,

    /// The target is in this process's own network namespace, which was made for the run
    #[arg(long, hide = true, help_heading = "Safety")]
    pub own_network: bool,
}

impl TargetOptions {
    /// Whether load may go there, and with which reach.
    ///
    /// # Errors
    /// The target is not a loopback address and nobody consented.
    pub fn reach(&self) -> Result<Reach, RoleError> {
        match (self.target.ip().is_loopback(), self.allow_remote) {
            (true, _) => Ok(Reach::Loopback),
            // Whoever claims it is checked: a namespace apart from its parent's.
            _ if self.own_network && apart() => Ok(Reach::Loopback),
            (false, true) => Ok(Reach::Remote),
            (false, false) => Err(RoleError::Usage(format!(
                "{} is not on this host: add --allow-remote if you may put load on it",
                self.target
            ))),
        }
    }
}

/// Whether this process has another network than the one that started it (network_namespaces(7)).
/// Where that cannot be seen it has not.
fn apart() -> bool {
    let network = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/net")).ok();
    let parent = getppid().map(|parent| parent.as_raw_pid().to_string());
    let theirs = parent.and_then(|parent| network(&parent));
    theirs.zip(network("self")).is_some_and(|(theirs, own)| theirs != own)
}

/// How far a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This host's loopback, or a network made for the run: any load.
    Loopback,
    /// Elsewhere: load is capped, and the role says so.
    Remote,
}

/// Raises the soft limit of open descriptors to the hard one and tells what it is now.
///
/// A refusal leaves the limit as it was; the caller compares with what it needs.
pub fn raise_open_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let _ =
            setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
    // None is RLIM_INFINITY.
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Has the kernel send `signal` to this process when `parent`, which started it, ends.
///
/// It is the *thread* that started it whose end counts: prctl(2), PR_SET_PDEATHSIG.
///
/// # Errors
/// The parent has ended already.
pub fn end_with(parent: i32, signal: Signal) -> io::Result<()> {
    // It tells of later deaths only, so look once afterwards.
    set_parent_process_death_signal(Some(signal))?;
    if getppid().map(Pid::as_raw_pid) == Some(parent) {
        Ok(())
    } else {
        Err(io::Error::other("the process that started this one has ended"))
    }
}

/// Moves the calling thread into the network namespace at `path`, and with it every child that it
/// starts and every socket that it makes from now on. Sockets it has stay where they were made.
///
/// While a thread is inside, the namespace lives. Its `/proc/net` is that of the process' main thread;
/// read `/proc/thread-self/net`.
///
/// # Errors
/// The namespace has ended, or the process lacks CAP_SYS_ADMIN, setns(2). The message names it.
pub fn enter_net(path: &Path) -> io::Result<()> {
    let entered = File::open(path).and_then(|net| {
        Ok(move_into_link_name_space(net.as_fd(), Some(LinkNameSpaceType::Network))?)
    });
    entered.map_err(|error| {
        let path = path.display();
        io::Error::new(error.kind(), format!("cannot enter the network namespace {path}: {error}"))
    })
}

/// Calls `work` on a thread inside the network namespace at `path` and waits for it. A child that
/// `work` starts and that asks for a signal at its parent's death gets it when `work` returns.
///
/// # Errors
/// As [`enter_net`], no thread could be started, or `work` panicked.
pub fn in_net<T: Send>(path: &Path, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let inside = thread::Builder::new().name("netns".into()).spawn_scoped(scope, || {
            enter_net(path)?;
            Ok(work())
        })?;
        inside.join().unwrap_or_else(|_| Err(io::Error::other("the work inside panicked")))
    })
}

/// Why a client or an origin could not start or go on. Trouble with single connections is none: it is
/// told in the records.
#[derive(Debug, thiserror::Error)]
pub enum RoleError {
    /// A matter of usage.
    #[error("{0}")]
    Usage(String),
    /// This host refused something.
    #[error("failed to {doing}: {source}")]
    Host {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// It cannot do what was asked of it.
    #[error("{0}")]
    Unable(String),
    /// Nobody reads its records any more.
    #[error("the reader of the records has gone")]
    Unheard,
}

impl RoleError {
    /// What a failed system call is to whoever was `doing` this.
    pub fn host(doing: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Host { doing, source }
    }

    /// It could not take its place on this host: CPUs, parent, runtime, timers, signals.
    pub fn process(source: io::Error) -> Self {
        Self::Host { doing: "set up the process", source }
    }
}

/// Prints one record as one line on standard output and flushes it.
///
/// # Errors
/// The reader is gone (EPIPE) or the disk is full: the role cannot do its work any more.
pub fn tell(record: &Record) -> Result<(), RoleError> {
    let line = record.to_line().map_err(|error| unwritten(io::Error::other(error)))?;
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes()).and_then(|()| out.flush()).map_err(unwritten)
}

/// What it is to a role that its records could not be written.
pub fn unwritten(error: io::Error) -> RoleError {
    match error.kind() {
        io::ErrorKind::BrokenPipe => RoleError::Unheard,
        _ => RoleError::Host { doing: "write records", source: error },
    }
}

/// Says something of the program `name` to people: a role's log is its standard error.
pub fn say(name: &str, message: &str) {
    // Nobody may be listening: that changes nothing.
    let _ = writeln!(io::stderr(), "{name}: {message}");
}

/// Turns the end of the role `name` into an exit code, and says on standard error why it failed: 2, that of
/// clap's own usage errors, for whoever typed the command; 1 for whoever looks after this host or the other
/// side. Who has gone as the reader of its records knows, and is told nothing.
pub fn finish(name: &str, ended: Result<(), RoleError>) -> ExitCode {
    let Err(error) = ended else { return ExitCode::SUCCESS };
    if !matches!(error, RoleError::Unheard) {
        say(name, &printable(&error.to_string()));
    }
    ExitCode::from(if matches!(error, RoleError::Usage(_)) { 2 } else { 1 })
}

/// The name of a thread that belongs to a role, within the 15 bytes Linux keeps.
pub fn thread_name(role: Role, part: &str) -> String {
    format!("{role}-{part}").chars().take(15).collect()
}
