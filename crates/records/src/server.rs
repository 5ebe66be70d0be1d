//! A proxy under test as it is installed, and how its workers were seen.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A program under test, as it is installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Which proxy it is: [`crate::ProxyKind::name`].
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

/// How the workers of a run were seen, as it came about.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
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

impl Visibility {
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
