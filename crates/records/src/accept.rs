//! How workers come by connections, and what the proxy does with bytes beyond relaying them.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ParseUnitError;

/// Who is woken when a connection comes to a listener that workers share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AcceptMode {
    /// Every worker that sleeps: nginx before 1.11.3 with `accept_mutex off`.
    Herd,
    /// One of those that sleep (EPOLLEXCLUSIVE, epoll_ctl(2)): nginx from 1.11.3.
    #[default]
    Exclusive,
    /// The one that holds a lock, taken in turn: nginx with `accept_mutex on`.
    Mutex,
}

impl AcceptMode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Herd, Self::Exclusive, Self::Mutex];

    /// The word used in flags and records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Herd => "herd",
            Self::Exclusive => "exclusive",
            Self::Mutex => "mutex",
        }
    }
}

impl fmt::Display for AcceptMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for AcceptMode {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|mode| mode.name() == text);
        found
            .ok_or_else(|| ParseUnitError::new(text, "a way to accept", "herd, exclusive or mutex"))
    }
}

/// Whether a worker reads on from the upstream while its client has not taken what was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

impl BufferingMode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Default, Self::On, Self::Off];

    /// The word used in flags and records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

impl fmt::Display for BufferingMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for BufferingMode {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|mode| mode.name() == text);
        found.ok_or_else(|| ParseUnitError::new(text, "a way to buffer", "on, off or default"))
    }
}

/// Whether a worker that buffers takes from the upstream what its client does not take yet, and
/// writes it to a file. Written `default`, `off` or the directory of the files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Spool {
    /// As the program does when it is not told: nginx and a mirror that buffers spool up to 1 GiB a
    /// session, others nothing.
    #[default]
    Default,
    /// Nothing is spooled.
    Off,
    /// Into temporary files of this directory.
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

impl FromStr for Spool {
    type Err = Infallible;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "default" => Self::Default,
            "off" => Self::Off,
            dir => Self::Dir(dir.into()),
        })
    }
}

impl Serialize for Spool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Spool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Where a proxy takes the bytes of an answer from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// From the origin.
    #[default]
    Origin,
    /// From local files, made for the run.
    File,
}

impl Content {
    /// The word used in flags and records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Origin => "origin",
            Self::File => "file",
        }
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Content {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = [Self::Origin, Self::File].into_iter().find(|content| content.name() == text);
        found.ok_or_else(|| ParseUnitError::new(text, "a source of answers", "origin or file"))
    }
}

/// The coding in which a client takes an answer: `Accept-Encoding`, RFC 9110, 12.5.3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coding {
    /// As it is; the header is not sent.
    #[default]
    Identity,
    /// Compressed, if the server likes.
    Gzip,
}

impl Coding {
    /// The word used in flags, records and the header.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
        }
    }
}

impl fmt::Display for Coding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Coding {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = [Self::Identity, Self::Gzip].into_iter().find(|coding| coding.name() == text);
        found.ok_or_else(|| ParseUnitError::new(text, "a coding", "identity or gzip"))
    }
}
