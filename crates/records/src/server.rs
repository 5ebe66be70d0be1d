//! Which proxy is under test, and how its workers are seen.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ParseUnitError;

/// The proxy under test. Written `mirror`, `nginx`, `exec:COMMAND`, `url:127.0.0.1:8000`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
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

impl Serialize for ProxyKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ProxyKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A program under test, as it is installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Which proxy it is: [`ProxyKind::name`].
    pub name: String,
    /// What it says of its version, one line; empty: it was not asked.
    pub version: String,
    /// The file that runs.
    pub path: PathBuf,
}

/// Lines of a foreign proxy's access log that are none of its chatter, and could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadLines {
    /// How many.
    pub lines: u64,
}

/// How workers of a proxy that does not tell of itself are to be watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TraceMode {
    /// bpftrace where it is installed and allowed, else samples; the mirror tells of itself.
    #[default]
    Auto,
    /// System calls and switches of every worker, by bpftrace; needs root.
    Bpftrace,
    /// `/proc`, a thousand times a second.
    Sample,
    /// Not at all.
    Off,
}

impl TraceMode {
    /// Every mode.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Bpftrace, Self::Sample, Self::Off];

    /// The word used in flags and records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Bpftrace => "bpftrace",
            Self::Sample => "sample",
            Self::Off => "off",
        }
    }
}

impl fmt::Display for TraceMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for TraceMode {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|mode| mode.name() == text);
        found.ok_or_else(|| {
            ParseUnitError::new(text, "a way to watch workers", "auto, bpftrace, sample or off")
        })
    }
}

/// How the workers of a run were seen, as it came about.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Sight {
    /// The proxy told of itself: the mirror.
    #[default]
    Own,
    /// Every system call and switch of its workers was traced.
    Traced,
    /// Its workers were looked at, a thousand times a second.
    Sampled,
    /// Only its access log and its clients tell of it.
    LogOnly,
    /// Only its clients tell of it.
    ClientsOnly,
}

impl Sight {
    /// In a few words: "seen ...".
    pub const fn words(self) -> &'static str {
        match self {
            Self::Own => "by their own account",
            Self::Traced => "traced by bpftrace",
            Self::Sampled => "sampled from /proc",
            Self::LogOnly => "by the access log alone",
            Self::ClientsOnly => "by clients alone",
        }
    }
}
