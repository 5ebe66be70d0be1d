//! What differs from program to program, one module each.

mod apache;
mod caddy;
mod exec;
mod h2o;
mod haproxy;
mod nginx;

use std::fmt;
use std::path::{Path, PathBuf};

use records::{Arm, ProxyKind};

use crate::build::{self, Build};
use crate::entry::{Entry, Read};
use crate::hop::LastSignal;
use crate::refusal::Refusal;
use crate::setting::{ConfigFile, Invocation, Setting};
use crate::toggle::Toggle;

/// One program: pure, but for [`Driver::find`].
pub(crate) trait Driver: fmt::Debug + Send + Sync {
    /// [`ProxyKind::name`].
    fn name(&self) -> &'static str;
    /// Commands it goes by, the likeliest first.
    fn commands(&self) -> Vec<String>;
    /// The Debian package that has it; empty: none.
    fn package(&self) -> &'static str;
    /// What its answer has in it when it is itself; empty: anything.
    fn mark(&self) -> &'static str {
        ""
    }
    /// How it is asked for its version; empty: not at all.
    fn version_args(&self) -> &'static [&'static str];

    /// Why it cannot honour `toggle`; `None`: it can. [`Toggle::ReadPolicy`],
    /// [`Toggle::Congestion`], [`Toggle::Trace`] and [`Toggle::OneWorker`] are judged elsewhere.
    fn refuses(&self, toggle: &Toggle, arm: &Arm, build: &Build) -> Option<Reason>;

    /// The files it reads.
    fn configuration(&self, setting: &Setting<'_>) -> Vec<ConfigFile>;
    /// How it is started in the foreground.
    fn invocation(&self, setting: &Setting<'_>) -> Invocation;

    /// Where its event loops are.
    fn workers(&self) -> Workers;
    /// Whether what a trace shows of them can be told as steps.
    fn tracing(&self) -> Tracing;
    /// Where it writes its access log.
    fn log(&self) -> LogPlace;
    /// A line of that log; `None`: it is none of its lines, or cannot be read.
    fn read(&self, line: Read<'_>) -> Option<Entry>;
    /// Whether a line from there is meant for that log, readable or not: the rest is chatter. In a
    /// file that is nothing but the log, all are.
    fn is_logged(&self, text: &str) -> bool {
        !text.trim().is_empty()
    }

    /// Who puts its workers on their CPUs.
    fn pinning(&self) -> Pinning {
        Pinning::Ours
    }
    /// The signal that ends it, with all its processes, when its keeper is gone without a word.
    fn last_signal(&self) -> LastSignal {
        LastSignal::Kill
    }
    /// Whether the port may be held for it until it has it: it must set SO_REUSEADDR.
    fn port(&self) -> PortCare {
        PortCare::Reserve
    }

    /// The file that runs: `bin`, or what its commands mean on this host.
    fn find(&self, bin: Option<&Path>) -> Result<PathBuf, Refusal> {
        if let Some(bin) = bin {
            return build::look_up(bin).ok_or_else(|| Refusal::NoProgram { path: bin.into() });
        }
        let commands = self.commands();
        let found = commands.iter().find_map(|name| build::look_up(Path::new(name)));
        found.ok_or_else(|| Refusal::Missing {
            name: commands.into_iter().next().unwrap_or_default(),
            package: self.package().to_owned(),
            kind: self.name(),
        })
    }
}

/// The driver of `kind`; `None`: it is not started by a driver.
pub(crate) fn of(kind: &ProxyKind) -> Result<Option<Box<dyn Driver>>, Refusal> {
    Ok(Some(match kind {
        ProxyKind::Mirror | ProxyKind::Url(_) => return Ok(None),
        ProxyKind::Nginx => Box::new(nginx::Nginx),
        ProxyKind::Haproxy => Box::new(haproxy::Haproxy),
        ProxyKind::Caddy => Box::new(caddy::Caddy),
        ProxyKind::Apache => Box::new(apache::Apache),
        ProxyKind::H2o => Box::new(h2o::H2o),
        ProxyKind::Exec(template) => Box::new(exec::Exec::parse(template)?),
    }))
}

/// Why a toggle is refused, and the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reason {
    pub(crate) why: String,
    pub(crate) instead: String,
}

impl Reason {
    pub(crate) fn new(why: impl Into<String>, instead: impl Into<String>) -> Self {
        Self { why: why.into(), instead: instead.into() }
    }

    /// The program has no such setting at all.
    fn absent(what: &str) -> Self {
        Self::new(format!("it has no setting for {what}"), "leave it out, or take --proxy mirror")
    }

    /// Why a program that has nothing for them cannot set the buffers of upstream sockets; `None`:
    /// `toggle` is about something else. The kernel's settings reach them.
    fn upstream_buffers(toggle: &Toggle) -> Option<Self> {
        let (option, sysctl) = match toggle {
            Toggle::Rcvbuf(_) => ("SO_RCVBUF", "net.ipv4.tcp_rmem"),
            Toggle::Sndbuf(_) => ("SO_SNDBUF", "net.ipv4.tcp_wmem"),
            _ => return None,
        };
        Some(Self::new(
            format!("it has no directive for {option} of upstream connections"),
            format!("set {sysctl} inside a namespace of its own with --netns"),
        ))
    }

    /// The program hands on what it has, and keeps none of it in files.
    fn no_spool() -> Self {
        Self::new("it never writes an answer to a file", "leave it out")
    }

    /// How it accepts is its own affair.
    fn own_way_to_accept(why: &str) -> Self {
        Self::new(why, "leave it out, or take another proxy")
    }
}

/// Where event loops are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workers {
    /// Child processes whose command line begins so.
    Children { title: &'static str },
    /// Child processes that are no event loops, but that the log tells by their ids.
    Pools,
    /// Threads of the one process that wait in a poll.
    PollingThreads,
    /// As many as there happen to be, in any process of its: they are found out under requests.
    Whatever,
    /// None that could be named.
    None,
}

/// Whether a trace of workers can be told as steps and sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tracing {
    /// A worker polls, and serves what the poll returned.
    Fits,
    /// The work is done elsewhere than where the poll is.
    Misleads,
}

/// Where an access log comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogPlace {
    /// It writes the access log itself, in the published format.
    Published,
    /// A file of its own in the directory.
    File(&'static str),
    /// Its standard output.
    Stdout,
    /// It has none.
    None,
}

/// Who puts workers on CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pinning {
    /// Its configuration.
    Its,
    /// We do: the whole program before it starts, and each worker once it is found.
    Ours,
}

/// What is done lest others take the port before the program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PortCare {
    /// A socket that is bound and does not listen holds it (SO_REUSEADDR, socket(7)).
    Reserve,
    /// Nothing: the program may not be able to bind beside it.
    Leave,
}

#[cfg(test)]
mod tests;
