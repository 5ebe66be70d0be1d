//! One setting of all options that make one trial differ from another; by the words that set it, and what
//! it came to over all its trials.
//!
//! A percentile of an arm is the median of its trials' percentiles: a run is the unit, not a fetch.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::options::{
    FaultToggles, FetchToggles, ProxyToggles, Rcvbuf, ServerToggles, SlowToggles, from_words,
    words, words_in_help,
};
use crate::{Bytes, BytesPerSec, Micros, ParseUnitError, Role, Verdict};

/// One setting of all toggles, as asked for. What the kernel made of it stands in
/// [`crate::Effective`]. In records its groups are one flat object.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Trial", mut_args(words_in_help))]
pub struct Arm {
    /// Which worker should hold which download: spread (each its share), one-worker, or hash (as
    /// the kernel likes)
    #[arg(long, hide_short_help = true, value_enum, value_name = "PLACE", default_value_t)]
    pub place: Placement,

    /// CPUs: auto (workers and load apart), off (the scheduler decides), or a list for the workers
    #[arg(long, hide_short_help = true, value_name = "PLAN", default_value_t)]
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
    /// so many words: a host whose buffers were set (`net.ipv4.tcp_rmem`) tunes its sockets by that.
    #[must_use]
    pub fn on(mut self, netns: Option<Namespaces>) -> Self {
        let tuned =
            netns.as_ref().is_some_and(|netns| netns.sysctls.contains_key("net.ipv4.tcp_rmem"));
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
    Workers(CpuList),
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad("auto"),
            Self::Off => f.pad("off"),
            Self::Workers(cpus) => cpus.fmt(f),
        }
    }
}

impl FromStr for Pin {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let forms = "auto, off or a list as 0,2";
        match text {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            list => list
                .parse()
                .map(Self::Workers)
                .map_err(|_| ParseUnitError::new(text, "a CPU plan", forms)),
        }
    }
}

/// CPU numbers, written `0`, `0,2` or `0-3`. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CpuList(Vec<usize>);

impl CpuList {
    /// More CPUs than any host has (`CPU_SETSIZE`, CPU_SET(3)).
    const MOST: usize = 1024;

    /// The CPUs in `cpus`, in that order; `None` when there are none.
    pub fn new(cpus: Vec<usize>) -> Option<Self> {
        (!cpus.is_empty()).then_some(Self(cpus))
    }

    /// The CPU for the `index`-th thread, going round.
    pub fn in_turn(&self, index: usize) -> usize {
        self.0.iter().cycle().nth(index).copied().unwrap_or(0)
    }

    /// The CPU numbers.
    pub fn as_slice(&self) -> &[usize] {
        &self.0
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.pad(&list.join(","))
    }
}

impl FromStr for CpuList {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| text.trim().parse().ok().filter(|&cpu: &usize| cpu < Self::MOST);
        let part = |part: &str| match part.split_once('-') {
            None => number(part).map(|cpu| cpu..=cpu),
            Some((first, last)) => Some(number(first)?..=number(last)?),
        };
        let parts: Option<Vec<_>> = text.split(',').map(part).collect();
        parts
            .and_then(|parts| Self::new(parts.into_iter().flatten().collect()))
            .ok_or_else(|| ParseUnitError::new(text, "a list of CPUs", "0, 0,2 or 0-3"))
    }
}

/// A network of its own for each role, instead of loopback: namespaces, joined by a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespaces {
    /// Settings of the proxy's namespace, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub sysctls: BTreeMap<String, String>,
}

/// One setting of all toggles, by the words that set it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArmSpec {
    /// How tables call it.
    pub name: String,
    /// The options, as words.
    pub args: Vec<String>,
}

/// `name: --option value`, as a shell takes it.
impl fmt::Display for ArmSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, shell_line(&self.args))
    }
}

/// Words as a shell takes them. What no shell can take is shown as it is.
pub fn shell_line(words: &[String]) -> String {
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

/// One arm over all its trials: a row of the table of a campaign, also as `turnstile case --json` prints
/// it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ArmRow {
    /// The arm.
    pub name: String,
    /// Trials.
    pub trials: u64,
    /// How they were judged.
    pub verdicts: BTreeMap<Verdict, u64>,
    /// Fetches under load, of all trials.
    pub attempts: u64,
    /// Of these, those that this host could try.
    pub tried: u64,
    /// Of these, failed.
    pub failed: u64,
    /// 499-style early closes, of all trials; absent: no log tells of their fetches.
    pub early_closes: Option<u64>,
    /// Median of the medians before the load.
    pub idle_p50: Micros,
    /// Median of the trials' medians.
    pub p50: Micros,
    /// Median of the trials' 90th percentiles.
    pub p90: Micros,
    /// Median of the trials' 99th percentiles.
    pub p99: Micros,
    /// The slowest fetch of all.
    pub max: Micros,
    /// Median rate of all downloads together.
    pub slow_rate: BytesPerSec,
    /// The longest step of all, as far as steps are known.
    pub longest_step: Option<Micros>,
    /// The longest loop turn of all, as far as turns are known.
    pub longest_turn: Option<Micros>,
    /// Median of the bytes that one step of a download moved, as far as steps are known.
    pub bytes_per_step: Option<Bytes>,
    /// Median CPU time for each GB.
    pub cpu_per_gb: Option<Micros>,
    /// Median share of a CPU that all workers used.
    pub cpu_share: Option<f64>,
    /// What was under test, as it names itself.
    pub version: Option<String>,
}
