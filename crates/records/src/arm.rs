//! One setting of all toggles, and the words in which they are set.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    AcceptMode, BufferingMode, Bytes, BytesPerSec, Coding, Content, Micros, ParseUnitError,
    ProxyKind, ReadPolicy, Role, Spool, TraceMode,
};

/// How workers share the port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListenerMode {
    /// One listening socket watched by every worker with EPOLLEXCLUSIVE: nginx from 1.11.3.
    #[default]
    Shared,
    /// One SO_REUSEPORT socket per worker; the kernel hashes each connection to one of them.
    Reuseport,
}

/// Which worker should hold which download.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

impl Placement {
    /// Every placement.
    pub const ALL: [Self; 3] = [Self::Spread, Self::OneWorker, Self::Hash];

    /// The word used in flags and records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spread => "spread",
            Self::OneWorker => "one-worker",
            Self::Hash => "hash",
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Placement {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|placement| placement.name() == text)
            .ok_or_else(|| ParseUnitError::new(text, "a placement", "spread, one-worker or hash"))
    }
}

/// What a slow client does with the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sink {
    /// Discards them in the kernel: `recv` with MSG_TRUNC, tcp(7).
    #[default]
    Trunc,
    /// Copies them to user space, as a real reader does.
    Copy,
}

impl fmt::Display for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Trunc => "trunc",
            Self::Copy => "copy",
        })
    }
}

impl FromStr for Sink {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "trunc" => Ok(Self::Trunc),
            "copy" => Ok(Self::Copy),
            _ => Err(ParseUnitError::new(text, "a sink", "trunc or copy")),
        }
    }
}

/// Congestion control of a sender: TCP_CONGESTION, tcp(7). Written `reno`, `cubic`, `system`.
///
/// Default: reno, the one that every kernel has and lets everyone choose. On loopback a sender that
/// paces itself (bbr) throttles the load, and a throttle hides starvation: it empties the buffer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Congestion(String);

impl Congestion {
    /// The word that leaves the choice to `net.ipv4.tcp_congestion_control`.
    const SYSTEM: &'static str = "system";

    /// The name to be set; `None`: the kernel's default stays.
    pub fn name(&self) -> Option<&str> {
        (self.0 != Self::SYSTEM).then_some(self.0.as_str())
    }
}

impl Default for Congestion {
    fn default() -> Self {
        Self("reno".to_owned())
    }
}

impl fmt::Display for Congestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for Congestion {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // TCP_CA_NAME_MAX is 16 with its NUL, include/net/tcp.h.
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        if (1..16).contains(&text.len()) && text.chars().all(is_name) {
            Ok(Self(text.to_owned()))
        } else {
            Err(ParseUnitError::new(text, "a congestion control", "reno, cubic or system"))
        }
    }
}

/// When fetches start. Written `10/s`, `0.5/s` or `closed`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Open loop: one fetch every `1/rate` seconds, whether or not earlier ones have ended.
    PerSecond(f64),
    /// Closed loop: the next fetch starts when the last one has ended, as in the published case.
    Closed,
}

impl Arrivals {
    /// The fastest open loop that is accepted, per second.
    pub const MAX_PER_SECOND: f64 = 100_000.0;

    /// Time between two intended starts; `None` for a closed loop.
    pub fn gap(self) -> Option<std::time::Duration> {
        match self {
            Self::PerSecond(rate) => Some(std::time::Duration::from_secs_f64(1.0 / rate)),
            Self::Closed => None,
        }
    }
}

impl Default for Arrivals {
    fn default() -> Self {
        Self::PerSecond(10.0)
    }
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PerSecond(rate) => f.pad(&format!("{rate}/s")),
            Self::Closed => f.pad("closed"),
        }
    }
}

impl FromStr for Arrivals {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "closed" {
            return Ok(Self::Closed);
        }
        text.strip_suffix("/s")
            .and_then(|rate| rate.parse::<f64>().ok())
            .filter(|rate| (0.01..=Self::MAX_PER_SECOND).contains(rate))
            .map(Self::PerSecond)
            .ok_or_else(|| {
                ParseUnitError::new(
                    text,
                    "an arrival process",
                    "10/s (0.01/s to 100000/s) or closed",
                )
            })
    }
}

impl Serialize for Arrivals {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Arrivals {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

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

/// How a worker writes its access log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogMode {
    /// A writer thread writes it: the worker never waits for a file.
    #[default]
    Writer,
    /// The worker writes each line itself as the session ends, as nginx does without `buffer=`
    /// (`ngx_http_log_module`), and waits as long as the file makes it wait.
    Inline,
}

impl fmt::Display for LogMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Writer => "writer",
            Self::Inline => "inline",
        })
    }
}

impl FromStr for LogMode {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "writer" => Ok(Self::Writer),
            "inline" => Ok(Self::Inline),
            _ => Err(ParseUnitError::new(text, "a way to write the log", "writer or inline")),
        }
    }
}

/// How much of a run is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recording {
    /// All there is.
    #[default]
    Full,
    /// What clients see, the sessions and the access log: no step, stretch or sample. To measure
    /// what recording costs; such a run explains nothing.
    Minimal,
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Full => "full",
            Self::Minimal => "minimal",
        })
    }
}

impl FromStr for Recording {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "full" => Ok(Self::Full),
            "minimal" => Ok(Self::Minimal),
            _ => Err(ParseUnitError::new(text, "an extent of recording", "full or minimal")),
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

/// One setting of all toggles, as asked for. What the kernel made of it stands in
/// [`crate::Effective`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Whether every worker has a listener of its own (SO_REUSEPORT).
    pub reuseport: bool,
    /// Upstream SO_RCVBUF set before connect; absent: the kernel tunes it.
    pub rcvbuf: Option<Bytes>,
    /// Upstream SO_SNDBUF.
    pub sndbuf: Option<Bytes>,
    /// SO_RCVBUF of accepted sockets.
    pub listen_rcvbuf: Option<Bytes>,
    /// SO_SNDBUF of accepted sockets.
    pub listen_sndbuf: Option<Bytes>,
    /// Congestion control of the origin's and the proxy's senders.
    #[serde(default)]
    pub congestion: Congestion,
    /// Event loops of the proxy.
    pub workers: u32,
    /// What ends a step while the upstream has data.
    pub read_policy: ReadPolicy,
    /// Relay buffer of a session.
    pub buffer: Bytes,
    /// `listen(2)` backlog.
    pub backlog: u32,
    /// Whether a worker accepts all it can in one loop turn.
    pub multi_accept: bool,
    /// Parallel downloads.
    pub slow: u32,
    /// Size of one download.
    pub slow_size: Bytes,
    /// What the slow clients do with the bytes.
    pub sink: Sink,
    /// How fast one download reads at most; absent: as fast as it can.
    pub read_rate: Option<BytesPerSec>,
    /// Which worker should hold which download.
    pub place: Placement,
    /// When fetches start.
    pub arrivals: Arrivals,
    /// Size of one fetch.
    pub fetch_size: Bytes,
    /// When a fetch is given up.
    pub cap_us: Micros,
    /// CPU plan.
    pub pin: Pin,
    /// Roles that have CPUs of their own choice, against the plan.
    #[serde(default)]
    pub cpus: BTreeMap<Role, Vec<usize>>,
    /// How workers write the access log.
    #[serde(default)]
    pub log_mode: LogMode,
    /// How long the origin thinks before each answer's head.
    #[serde(default)]
    pub think_us: Micros,
    /// Answers the origin works on at a time; absent: no limit.
    #[serde(default)]
    pub origin_workers: Option<u32>,
    /// Fetches that start together in the measure phase, at each arrival.
    #[serde(default = "one")]
    pub burst: u32,
    /// Which proxy is under test.
    #[serde(default)]
    pub proxy: ProxyKind,
    /// How its workers are to be watched.
    #[serde(default)]
    pub trace: TraceMode,
    /// Who is woken for a connection to a shared listener.
    #[serde(default)]
    pub accept: AcceptMode,
    /// Where a worker takes answers from.
    #[serde(default)]
    pub content: Content,
    /// Whether a worker reads on while its client has not taken what was read.
    #[serde(default)]
    pub buffering: BufferingMode,
    /// What happens to bytes that a client does not take yet.
    #[serde(default)]
    pub spool: Spool,
    /// How much of one answer is spooled at most; absent: as the program does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub spool_max: Option<Bytes>,
    /// Level at which the worker compresses answers (gzip, 1 to 9); absent: not at all.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gzip: Option<u32>,
    /// The coding in which the downloads take their answers.
    #[serde(default)]
    pub slow_coding: Coding,
    /// The coding in which the fetches take theirs.
    #[serde(default)]
    pub fetch_coding: Coding,
    /// Every role on a host of its own; absent: all on loopback.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub netns: Option<Namespaces>,
    /// Lines for the configuration of the program under test, in its own language.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub directives: Vec<String>,
}

impl Arm {
    /// Event loops of a proxy that is not told how many.
    pub const WORKERS: u32 = 2;
    /// Relay buffer of a session that is not told another: nginx's `proxy_buffer_size`.
    pub const BUFFER: Bytes = Bytes::kib(4);
    /// Backlog of a listener that is not told another: nginx's.
    pub const BACKLOG: u32 = 511;
    /// Sessions that a worker holds at most.
    pub const WORKER_CONNECTIONS: u32 = 4096;
}

const fn one() -> u32 {
    1
}
