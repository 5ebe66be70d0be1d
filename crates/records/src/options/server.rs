//! Which proxy is under test, what is said to one that is not ours, and what each does with its receive
//! buffers.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::{RequestLine, as_text, some_time, words, words_in_help};
use crate::{Bytes, Micros, ParseUnitError};

/// The proxy under test. Which servers there are by name, only the crate `servers` knows: it refuses others.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "What to test", mut_args(words_in_help))]
#[serde(default)]
pub struct ServerToggles {
    /// A proxy, as nginx
    ///
    /// mirror (ours), a server that is built in, as nginx (docs/proxies.md has them all), url:IP:PORT (one
    /// that runs already) or direct (none: clients ask the origin). --server takes any other program
    #[arg(id = "proxy", long, value_name = "PROXY", default_value_t, display_order = 0)]
    #[serde(rename = "proxy")]
    pub kind: ProxyKind,

    /// How to watch its workers: auto, probe (needs root), sample (/proc) or off. The mirror
    /// tells of itself and is watched only when asked
    #[arg(long, hide_short_help = true, value_enum, value_name = "MEANS", default_value_t)]
    pub trace: TraceMode,

    /// Where answers come from: origin, or file: local files that the proxy serves
    #[arg(long, hide_short_help = true, value_enum, value_name = "SOURCE", default_value_t)]
    pub content: Content,

    /// A line for the program's own configuration, in its own syntax, as 'proxy_buffering off;' for
    /// nginx (inside its location); may be repeated
    #[arg(long = "directive", hide_short_help = true, value_name = "TEXT")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directives: Vec<String>,

    /// A variable for the program's environment; places are filled in, as in PORT={port}; may be
    /// repeated
    #[arg(long = "env", hide_short_help = true, value_name = "KEY=VALUE", value_parser = variable)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,

    /// The program's working directory [default: ours for --server, else the run directory's proxy/]
    #[arg(long, hide_short_help = true, value_name = "DIR")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_dir: Option<PathBuf>,

    /// The program is ready when it answers this with a status of 2xx [default: --fetch-path, or
    /// /bytes/1]
    #[arg(long, hide_short_help = true, value_name = "PATH")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_path: Option<RequestLine>,

    /// How long that may take [default: 8s]
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = some_time())]
    #[serde(rename = "ready_within_us", skip_serializing_if = "Option::is_none")]
    pub ready_within: Option<Micros>,
}

fn variable(text: &str) -> Result<String, String> {
    let name = text.split_once('=').map_or("", |(name, _)| name);
    let is_one = !name.is_empty() && !text.contains('\0');
    if is_one { Ok(text.to_owned()) } else { Err("write it as KEY=VALUE".to_owned()) }
}

/// The proxy under test. Written `mirror`, `nginx`, `exec:COMMAND`, `url:127.0.0.1:8000`, `direct`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProxyKind {
    /// Ours: an nginx worker with its read policies as toggles.
    #[default]
    Mirror,
    /// A server that a data file describes, by its name: `nginx`. Whether there is such a file, the
    /// crate `servers` knows.
    Server(String),
    /// Any program: a command with places to be filled in (`--server`).
    Exec(String),
    /// One that runs already: only the clients' side is known.
    Url(SocketAddr),
    /// None: the clients ask the origin. What a proxy costs is the difference from this.
    Direct,
}

impl ProxyKind {
    /// Whether a trial does not start it: only its clients tell of it.
    pub const fn is_not_started(&self) -> bool {
        matches!(self, Self::Url(_) | Self::Direct)
    }

    /// Whether it is a command, of which nothing is known but what is seen of it.
    pub const fn is_command(&self) -> bool {
        matches!(self, Self::Exec(_))
    }

    /// The word for the kind, without what is given with it.
    pub fn name(&self) -> &str {
        match self {
            Self::Mirror => "mirror",
            Self::Server(name) => name,
            Self::Exec(_) => "exec",
            Self::Url(_) => "url",
            Self::Direct => "direct",
        }
    }
}

impl fmt::Display for ProxyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exec(command) => f.pad(&format!("exec:{command}")),
            Self::Url(addr) => f.pad(&format!("url:{addr}")),
            named => f.pad(named.name()),
        }
    }
}

/// A name is made of small letters, digits and `._-`, and is no other kind's word.
impl FromStr for ProxyKind {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
        let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        let kind = match (text, text.split_once(':')) {
            ("mirror", _) => Some(Self::Mirror),
            ("direct", _) => Some(Self::Direct),
            ("exec" | "url", None) => None,
            (name, None) if begins && name.chars().all(is_name) => Some(Self::Server(name.into())),
            (_, Some(("exec", command))) if !command.trim().is_empty() => {
                Some(Self::Exec(command.trim().into()))
            }
            (_, Some(("url", addr))) => {
                addr.trim_start_matches("http://").trim_end_matches('/').parse().ok().map(Self::Url)
            }
            _ => None,
        };
        let forms = "mirror, the name of a server (nginx), url:IP:PORT or direct";
        kind.ok_or_else(|| ParseUnitError::new(text, "a proxy", forms))
    }
}

as_text!(ProxyKind);

/// How workers of a proxy that does not tell of itself are to be watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TraceMode {
    /// The probe where the kernel allows it, else samples; the mirror tells of itself.
    #[default]
    Auto,
    /// System calls and switches of every worker, by programs in the kernel; needs root. Runs of
    /// earlier builds call it by the program that they used.
    #[serde(alias = "bpftrace")]
    Probe,
    /// `/proc`, a thousand times a second.
    Sample,
    /// Not at all.
    Off,
}

/// Where a proxy takes the bytes of an answer from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// From the origin.
    #[default]
    Origin,
    /// From local files, made for the run.
    File,
}

words!(TraceMode, Content);

/// SO_RCVBUF of upstream connections (socket(7)). Written `default`, `auto` or a size; in records
/// `null` stands for `auto`, and a size is a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rcvbuf {
    /// As the program does when it is not told: the mirror asks for [`Rcvbuf::ROOMY`] where the host gives
    /// as much, any other program leaves it to the kernel.
    #[default]
    Default,
    /// The kernel tunes it.
    #[serde(untagged)]
    Auto,
    /// So much is asked for; the kernel keeps the double, capped by `net.core.rmem_max`.
    #[serde(untagged)]
    Size(Bytes),
}

impl Rcvbuf {
    /// What the mirror asks for by default: 1 MiB.
    ///
    /// Left to the kernel, the buffer of a reader that is slower than its sender stays anywhere
    /// between 128 KiB and 4 MiB, by luck: since Linux 6.16 a queue that is not empty counts against
    /// its growth (`tcp_rcv_space_adjust`). That luck decided how strong the starvation was. Over a
    /// network, where a round trip takes longer than over loopback, buffers grow to this and more.
    pub const ROOMY: Bytes = Bytes::mib(1);

    /// The same on a host that gives no socket more than `most` (`net.core.rmem_max`): where that is less
    /// than [`Rcvbuf::ROOMY`], the kernel's own tuning goes further, and the default leaves it to that.
    #[must_use]
    pub fn within(self, most: Option<Bytes>) -> Self {
        match (self, most) {
            (Self::Default, Some(most)) if most < Self::ROOMY => Self::Auto,
            _ => self,
        }
    }

    /// The size that `proxy` is to ask for; absent: the kernel tunes it.
    pub fn asked(self, proxy: &ProxyKind) -> Option<Bytes> {
        match self {
            Self::Default => (*proxy == ProxyKind::Mirror).then_some(Self::ROOMY),
            Self::Auto => None,
            Self::Size(size) => Some(size),
        }
    }
}

impl fmt::Display for Rcvbuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.pad("default"),
            Self::Auto => f.pad("auto"),
            Self::Size(size) => f.pad(&size.exact()),
        }
    }
}

impl FromStr for Rcvbuf {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "default" => Ok(Self::Default),
            "auto" => Ok(Self::Auto),
            size => size.parse().map(Self::Size),
        }
    }
}
