//! One setting of all options that make one trial differ from another.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::options::{
    FaultToggles, FetchToggles, ProxyToggles, Rcvbuf, ServerToggles, SlowToggles, from_words, words,
};
use crate::{Bytes, ParseUnitError, Role};

/// One setting of all toggles, as asked for. What the kernel made of it stands in
/// [`crate::Effective`]. In records its groups are one flat object.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Trial")]
pub struct Arm {
    /// Which worker should hold which download: spread (each its share), one-worker, or hash (as
    /// the kernel likes)
    #[arg(long, value_enum, value_name = "PLACE", default_value_t, hide_possible_values = true)]
    pub place: Placement,

    /// CPUs: auto (workers and load apart), off (the scheduler decides), or a list for the workers
    #[arg(long, value_name = "PLAN", default_value_t)]
    pub pin: Pin,

    /// What the proxy does.
    #[command(flatten)]
    #[serde(flatten)]
    pub proxy: ProxyToggles,

    /// What the downloads do.
    #[command(flatten)]
    #[serde(flatten)]
    pub load: SlowToggles,

    /// What the fetches do.
    #[command(flatten)]
    #[serde(flatten)]
    pub fetch: FetchToggles,

    /// What is wrong on purpose.
    #[command(flatten)]
    #[serde(flatten)]
    pub faults: FaultToggles,

    /// Which proxy it is.
    #[command(flatten)]
    #[serde(flatten)]
    pub server: ServerToggles,

    /// Roles that have CPUs of their own choice, against the plan.
    #[arg(skip)]
    #[serde(default)]
    pub cpus: BTreeMap<Role, Vec<usize>>,

    /// Every role on a host of its own; absent: all on loopback.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub netns: Option<Namespaces>,
}

impl Arm {
    /// Upstream SO_RCVBUF that is asked for; absent: the kernel tunes it.
    pub fn rcvbuf(&self) -> Option<Bytes> {
        self.proxy.rcvbuf.asked(&self.server.kind)
    }

    /// The same arm on hosts of their own, if there are any, with what its proxy does by default said in
    /// so many words: a host whose buffers were set (`tcp_rmem`) tunes its sockets by that.
    #[must_use]
    pub fn on(mut self, netns: Option<Namespaces>) -> Self {
        let tuned = netns.as_ref().is_some_and(|netns| netns.tcp_rmem.is_some());
        self.proxy.rcvbuf = match self.proxy.rcvbuf {
            Rcvbuf::Default if tuned => Rcvbuf::Auto,
            _ => self.rcvbuf().map_or(Rcvbuf::Auto, Rcvbuf::Size),
        };
        self.netns = netns;
        self
    }
}

/// What a trial is when nothing is said.
impl Default for Arm {
    fn default() -> Self {
        from_words::<Self>(&[]).on(None)
    }
}

/// Which worker should hold which download.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Dial until every worker holds its share.
    #[default]
    Spread,
    /// Dial until one worker holds them all.
    OneWorker,
    /// Take what the kernel gives, as in the published case.
    Hash,
}

/// How much of a run is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recording {
    /// All there is.
    #[default]
    Full,
    /// What clients see, the sessions and the access log: no step, stretch or sample. To measure
    /// what recording costs; such a run explains nothing.
    Minimal,
}

words!(Placement, Recording);

/// Which CPUs a trial uses, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pin {
    /// On 2 CPUs the workers on the first and all load on the second; on more, a CPU per worker.
    #[default]
    Auto,
    /// The scheduler decides.
    Off,
    /// Workers on these CPUs in turn, the load on all others.
    Workers(Vec<usize>),
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad("auto"),
            Self::Off => f.pad("off"),
            Self::Workers(cpus) => {
                let list: Vec<String> = cpus.iter().map(ToString::to_string).collect();
                f.pad(&list.join(","))
            }
        }
    }
}

impl FromStr for Pin {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseUnitError::new(text, "a CPU plan", "auto, off or a list as 0,2");
        match text {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            list => list
                .split(',')
                .map(|cpu| cpu.trim().parse::<usize>().map_err(|_| wrong()))
                .collect::<Result<_, _>>()
                .map(Self::Workers),
        }
    }
}

/// A network of its own for each role, instead of loopback: namespaces, joined by a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespaces {
    /// What each link carries at most, in each direction, as `1Gbit`; absent: all the CPUs can.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub link_rate: Option<String>,
    /// `net.ipv4.tcp_rmem` in the proxy's namespace; absent: as outside.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tcp_rmem: Option<String>,
}
