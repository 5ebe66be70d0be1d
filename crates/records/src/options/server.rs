//! Which proxy is under test, and what is said to one that is not ours.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::{as_text, words};
use crate::ParseUnitError;

/// The proxy under test. Which servers there are by name, only the crate `servers` knows: it refuses others.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args, Serialize, Deserialize)]
#[command(next_help_heading = "Proxy under test")]
#[serde(default)]
pub struct ServerToggles {
    /// Which proxy: mirror (ours), nginx, haproxy, caddy, apache, h2o, exec:COMMAND (with {listen},
    /// {origin} and {workers} filled in) or url:IP:PORT (one that runs already)
    #[arg(id = "proxy", long, value_name = "PROXY", default_value_t)]
    #[serde(rename = "proxy")]
    pub kind: ProxyKind,

    /// How to watch its workers: auto, probe (needs root), sample (/proc) or off. The mirror
    /// tells of itself and is watched only when asked
    #[arg(long, value_enum, value_name = "MEANS", default_value_t, hide_possible_values = true)]
    pub trace: TraceMode,

    /// Where answers come from: origin, or file: local files that the proxy serves
    #[arg(long, value_enum, value_name = "SOURCE", default_value_t, hide_possible_values = true)]
    pub content: Content,

    /// A line for the program's own configuration, in its own syntax, as 'proxy_buffering off;' for
    /// nginx (inside its location); may be repeated
    #[arg(long = "directive", value_name = "TEXT")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub directives: Vec<String>,
}

/// The proxy under test. Written `mirror`, `nginx`, `exec:COMMAND`, `url:127.0.0.1:8000`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProxyKind {
    /// Ours: an nginx worker with its read policies as toggles.
    #[default]
    Mirror,
    /// A server that a data file describes, by its name: `nginx`. Whether there is such a file, the
    /// crate `servers` knows.
    Server(String),
    /// Any program: a command with `{listen}`, `{origin}` and `{workers}` to be filled in.
    Exec(String),
    /// One that runs already: only the clients' side is known.
    Url(SocketAddr),
}

impl ProxyKind {
    /// The word for the kind, without what is given with it.
    pub fn name(&self) -> &str {
        match self {
            Self::Mirror => "mirror",
            Self::Server(name) => name,
            Self::Exec(_) => "exec",
            Self::Url(_) => "url",
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
        let wrong = || {
            let forms = "mirror, the name of a server (nginx), exec:COMMAND or url:IP:PORT";
            ParseUnitError::new(text, "a proxy", forms)
        };
        if text == "mirror" {
            return Ok(Self::Mirror);
        }
        if let Some(command) = text.strip_prefix("exec:") {
            let command = command.trim();
            return if command.is_empty() { Err(wrong()) } else { Ok(Self::Exec(command.into())) };
        }
        if let Some(addr) = text.strip_prefix("url:") {
            let addr = addr.trim_start_matches("http://").trim_end_matches('/');
            return addr.parse().map(Self::Url).map_err(|_| wrong());
        }
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
        let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        if begins && text.chars().all(is_name) && !["exec", "url"].contains(&text) {
            Ok(Self::Server(text.to_owned()))
        } else {
            Err(wrong())
        }
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
