//! What a role says when it is up: where it listens and what the kernel made of its settings; what runs
//! in it, and how that is seen.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, IntoStaticStr};

use crate::{Bytes, SCHEMA_VERSION};

/// The programs of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[derive(Display, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Role {
    /// The upstream.
    Origin,
    /// The proxy under test.
    Proxy,
    /// The downloads.
    Slow,
    /// The fetches.
    Fast,
    /// The watcher of workers that do not tell of themselves.
    Trace,
}

impl Role {
    /// The subcommand and the word in records.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The first line of every role: it is ready for work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// [`crate::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Who speaks.
    pub role: Role,
    /// Process id.
    pub pid: u32,
    /// Where it accepts connections; absent for clients.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub listen: Option<SocketAddr>,
    /// Thread ids of the proxy's workers, by worker; empty elsewhere. A worker that is a process is
    /// its main thread.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub worker_tids: Vec<i32>,
    /// Inodes of the proxy's listeners, by worker; a single one is shared by all; empty elsewhere.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub listeners: Vec<u64>,
    /// The foreign program that plays the proxy; absent for our own roles.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub program: Option<Program>,
    /// How the proxy's workers are seen.
    #[serde(rename = "sight", default)]
    pub visibility: Visibility,
    /// What was set and read back.
    pub effective: Effective,
}

impl Ready {
    /// The line of a role that accepts nothing and has no workers; the others add what they have.
    pub fn new(role: Role, pid: u32, effective: Effective) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            role,
            pid,
            listen: None,
            worker_tids: Vec::new(),
            listeners: Vec::new(),
            program: None,
            visibility: Visibility::Own,
            effective,
        }
    }
}

/// Settings read back from the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effective {
    /// CPUs this process may run on (the proxy: its workers).
    #[serde(default)]
    pub cpus: Vec<usize>,
    /// Soft limit of open descriptors.
    #[serde(default)]
    pub max_open_files: u64,
    /// Socket options, requested beside effective.
    #[serde(default)]
    pub sockets: Vec<SocketSetting>,
    /// Congestion control of its senders (TCP_CONGESTION); absent where it sends nothing much.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub congestion: Option<String>,
}

/// One socket option as it was asked for and as the kernel keeps it.
///
/// For buffers the kernel keeps twice what it was asked for (socket(7)); `effective` is what
/// `getsockopt` says, undivided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketSetting {
    /// Which socket and option, as `upstream SO_RCVBUF`.
    pub name: String,
    /// What was asked for; absent: left to the kernel.
    pub requested: Option<Bytes>,
    /// What `getsockopt` answered.
    pub effective: Bytes,
}

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

/// How the workers of a run were seen, as it came about; with each how a sentence says it: "seen ...".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[derive(Default, EnumMessage)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// The proxy told of itself: the mirror.
    #[default]
    #[strum(message = "by their own account")]
    Own,
    /// Every system call and switch of its workers was traced.
    #[strum(message = "step by step, by the probe")]
    Traced,
    /// All its threads were traced together, as they hand work to each other.
    #[strum(message = "by all their threads together, by the probe")]
    Threads,
    /// Its workers were looked at, a thousand times a second.
    #[strum(message = "in samples of /proc")]
    Sampled,
    /// Only its access log and its clients tell of it.
    #[strum(message = "by the access log alone")]
    LogOnly,
    /// Only its clients tell of it.
    #[strum(message = "by clients alone")]
    ClientsOnly,
}

impl Visibility {
    /// As a sentence has it: "seen ...".
    pub fn words(self) -> &'static str {
        self.get_message().unwrap_or_default()
    }
}
