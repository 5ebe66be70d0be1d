//! The toggles of a proxy: what makes one proxy differ from another.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use strum::EnumString;

use super::{Rcvbuf, as_text, default_of_flags, within, words, words_in_help};
use crate::{Bytes, Micros, ParseUnitError};

/// The toggles of the mirror, and of a foreign proxy as far as it has them.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "The mirror (what other servers honour: docs/proxies.md)")]
#[command(mut_args(words_in_help))]
#[serde(default)]
pub struct ProxyToggles {
    /// Event loops, each a thread of its own
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub workers: u32,

    /// A listener for each worker (SO_REUSEPORT)
    ///
    /// Else all workers share one
    #[arg(long)]
    pub reuseport: bool,

    /// Receive buffer towards the upstream, as 40960
    ///
    /// SO_RCVBUF of upstream connections, as 40960 or 1MiB; auto: the kernel tunes it [default: as the
    /// program does; the mirror: 1MiB]
    #[arg(long, value_name = "SIZE", default_value_t, hide_default_value = true)]
    pub rcvbuf: Rcvbuf,

    /// Congestion control of what is sent to clients: reno, cubic or system (the kernel's default)
    #[arg(long, hide_short_help = true, value_name = "NAME", default_value_t)]
    pub congestion: Congestion,

    /// Length of a listener's queue of connections to be accepted
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 511, value_parser = clap::value_parser!(u32).range(1..=65535))]
    pub backlog: u32,

    /// Relay buffer: bytes offered to one read; with --buffering on, bytes of each of nine pages
    #[arg(long, hide_short_help = true, value_name = "SIZE", default_value = "4KiB", value_parser = within(Bytes(1)..=Bytes::mib(64), "a relay buffer has 1 byte to 64 MiB"))]
    pub buffer: Bytes,

    /// What ends a step, as fionread
    ///
    /// While the upstream has data: drain, short-read, fionread, bytes:SIZE, reads:N or time:DURATION
    #[arg(long, value_name = "POLICY", default_value_t)]
    pub read_policy: ReadPolicy,

    /// Accept all that wait in one loop turn instead of one
    #[arg(long, hide_short_help = true)]
    pub multi_accept: bool,

    /// Sessions that one worker holds at a time
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub worker_connections: u32,

    /// Who writes the access log: writer, a thread of its own, or inline, the worker itself as each
    /// session ends, however long the file makes it wait
    #[arg(long, hide_short_help = true, value_enum, value_name = "MODE", default_value_t)]
    pub log_mode: LogMode,

    /// Who is woken for a connection to a listener that workers share: herd, every worker that
    /// sleeps; exclusive, one of them
    #[arg(long, hide_short_help = true, value_enum, value_name = "MODE", default_value_t)]
    pub accept: AcceptMode,

    /// How a worker passes an answer on: off, it writes what it has read before it reads again; on,
    /// it reads into nine pages, writes two of them at a time and spools what its client does not
    /// take; default, as the program does (nginx: on; the mirror: off)
    #[arg(long, hide_short_help = true, value_enum, value_name = "MODE", default_value_t)]
    pub buffering: BufferingMode,

    /// Where a worker that buffers puts what its client does not take: a directory, into temporary
    /// files there; off, it waits at the upstream; default, as the program does (the mirror: into
    /// files of the run, or where this host has its temporary files)
    #[arg(long, hide_short_help = true, value_name = "DIR", default_value_t)]
    pub spool: Spool,

    /// Bytes of one answer that are spooled at most [default: as the program does: 1GiB]
    #[arg(long, hide_short_help = true, value_name = "SIZE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spool_max: Option<Bytes>,
}

impl ProxyToggles {
    /// How workers share the port.
    pub fn listener_mode(&self) -> ListenerMode {
        if self.reuseport { ListenerMode::Reuseport } else { ListenerMode::Shared }
    }

    /// Whether the toggles fit each other.
    ///
    /// # Errors
    /// [`ToggleError`]: whoever set them has to choose.
    pub fn check(&self) -> Result<(), ToggleError> {
        if self.reuseport && self.accept != AcceptMode::Exclusive {
            return Err(ToggleError::NothingShared(self.accept));
        }
        let spools = matches!(self.spool, Spool::Dir(_)) || self.spool_max.is_some();
        if spools && self.buffering != BufferingMode::On {
            return Err(ToggleError::NothingSpooled);
        }
        Ok(())
    }
}

default_of_flags!(ProxyToggles);

/// Toggles that do not fit each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToggleError {
    /// A way to share a listener, and no listener to share.
    #[error(
        "--accept {0} is about a listener that workers share, and with --reuseport they share \
         none: leave one of the two out"
    )]
    NothingShared(AcceptMode),
    /// A place for what a client does not take, and nothing that is taken for it.
    #[error("only a proxy that buffers spools: add --buffering on to --spool and --spool-max")]
    NothingSpooled,
}

/// How workers share the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenerMode {
    /// One listening socket watched by every worker with EPOLLEXCLUSIVE: nginx from 1.11.3.
    Shared,
    /// One SO_REUSEPORT socket per worker; the kernel hashes each connection to one of them.
    Reuseport,
}

/// Who is woken when a connection comes to a listener that workers share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AcceptMode {
    /// Every worker that sleeps: nginx before 1.11.3 with `accept_mutex off`.
    Herd,
    /// One of those that sleep (EPOLLEXCLUSIVE, epoll_ctl(2)): nginx from 1.11.3.
    #[default]
    Exclusive,
}

/// Whether a worker reads on from the upstream while its client has not taken what was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BufferingMode {
    /// As the program does when it is not told: nginx does, the mirror does not.
    #[default]
    Default,
    /// It does, into several buffers and a file (`proxy_buffering on`).
    On,
    /// It does not: what was read is written before more is read (`proxy_buffering off`).
    Off,
}

/// How a worker writes its access log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogMode {
    /// A writer thread writes it: the worker never waits for a file.
    #[default]
    Writer,
    /// The worker writes each line itself as the session ends, as nginx does without `buffer=`
    /// (`ngx_http_log_module`), and waits as long as the file makes it wait.
    Inline,
}

words!(AcceptMode, BufferingMode, LogMode);

/// Whether a worker that buffers takes from the upstream what its client does not take yet, and
/// writes it to a file. Written `default`, `off` or the directory of the files.
#[derive(Clone, Debug, Default, PartialEq, Eq, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Spool {
    /// As the program does when it is not told: nginx and a mirror that buffers spool up to 1 GiB a
    /// session, others nothing.
    #[default]
    Default,
    /// Nothing is spooled.
    Off,
    /// Into temporary files of this directory.
    #[strum(default)]
    Dir(PathBuf),
}

impl fmt::Display for Spool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.pad("default"),
            Self::Off => f.pad("off"),
            Self::Dir(dir) => f.pad(&dir.display().to_string()),
        }
    }
}

as_text!(Spool);

/// Congestion control of a sender: TCP_CONGESTION, tcp(7). Written `reno`, `cubic`, `system`.
///
/// Default: reno, the one that every kernel has and lets everyone choose. On loopback a sender that
/// paces itself (bbr) throttles the load, and a throttle hides starvation: it empties the buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// The read policy of a proxy: the one setting that decides whether a step has an end.
///
/// Written in flags and records as `drain`, `short-read`, `fionread`, `bytes:64KiB`, `reads:16`,
/// `time:2ms`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadPolicy {
    /// Only EAGAIN ends a step: nginx before 1.11.0.
    #[default]
    Drain,
    /// EAGAIN, or a read shorter than the buffer: nginx 1.11.0 to 1.17.4.
    ShortRead,
    /// As `ShortRead`, and what FIONREAD saw at the first full read: nginx from 1.17.5.
    Fionread,
    /// A quota of bytes a step; then the session waits for the next loop turn.
    Bytes(Bytes),
    /// A quota of reads a step.
    Reads(u64),
    /// A quota of time a step.
    Time(Micros),
}

impl ReadPolicy {
    /// Whether it ends a step while the upstream goes on sending.
    pub const fn is_bounded(self) -> bool {
        !matches!(self, Self::Drain | Self::ShortRead)
    }

    /// Whether a step has a quota, whatever the socket tells.
    pub const fn is_quota(self) -> bool {
        matches!(self, Self::Bytes(_) | Self::Reads(_) | Self::Time(_))
    }
}

impl fmt::Display for ReadPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drain => f.pad("drain"),
            Self::ShortRead => f.pad("short-read"),
            Self::Fionread => f.pad("fionread"),
            Self::Bytes(quota) => f.pad(&format!("bytes:{}", quota.exact())),
            Self::Reads(quota) => f.pad(&format!("reads:{quota}")),
            Self::Time(quota) => {
                f.pad(&format!("time:{}", humantime::format_duration(quota.as_duration())))
            }
        }
    }
}

impl FromStr for ReadPolicy {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let policy = match text.split_once(':').unwrap_or((text, "")) {
            ("drain", "") => Some(Self::Drain),
            ("short-read", "") => Some(Self::ShortRead),
            ("fionread", "") => Some(Self::Fionread),
            ("bytes", quota) => quota.parse().ok().map(Self::Bytes),
            ("reads", quota) => quota.parse().ok().map(Self::Reads),
            ("time", quota) => quota.parse().ok().map(Self::Time),
            _ => None,
        };
        let nothing = [Self::Bytes(Bytes(0)), Self::Reads(0), Self::Time(Micros(0))];
        policy.filter(|policy| !nothing.contains(policy) && !text.ends_with(':')).ok_or_else(|| {
            let forms = "drain, short-read, fionread, bytes:64KiB, reads:16 or time:2ms (quotas above \
                         zero)";
            ParseUnitError::new(text, "a read policy", forms)
        })
    }
}

as_text!(ReadPolicy);
