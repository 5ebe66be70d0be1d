//! What a run was: written before it starts, completed when it ends; and what each of its roles said of
//! itself when it was up, which is a part of that.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, IntoStaticStr};

use crate::{Arm, Bytes, Capture, CounterSpan, Micros, MonoNs, Phase, Recording, SCHEMA_VERSION};

/// `manifest.json` of a run directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`crate::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Version of `turnstile`.
    pub version: String,
    /// The command, as it was typed; of a trial in a campaign or a show as it would be.
    pub command: Vec<String>,
    /// UTC, ISO 8601.
    pub started_at: String,
    /// The setting of all toggles, as asked for.
    pub arm: Arm,
    /// Length of the idle phase, as asked for.
    pub idle_us: Micros,
    /// Length of the measure phase, as asked for.
    pub measure_us: Micros,
    /// Steps and loop turns from this length on are recorded one by one.
    pub hold_us: Micros,
    /// The machine.
    pub host: Host,
    /// The processes of the run, in the order of their start.
    pub processes: Vec<RoleProcess>,
    /// The phases that began, in order.
    pub phases: Vec<PhaseSpan>,
    /// How much was recorded.
    #[serde(default)]
    pub recording: Recording,
    /// How many workers the proxy said it has: a command may have others than were asked for. Absent:
    /// it did not say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub workers: Option<u32>,
    /// The proxy's listeners by inode, as [`crate::Ready::listeners`].
    #[serde(default)]
    pub listeners: Vec<u64>,
    /// Counters of the kernel (netstat and snmp, proc(5)) around the fetches under load, as
    /// `TcpExt.ListenOverflows`; empty where the kernel hides them.
    #[serde(default)]
    pub kernel_counters: BTreeMap<String, CounterSpan>,
    /// The foreign program under test; absent: the mirror, or one that ran already.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub program: Option<Program>,
    /// How the proxy's workers were seen.
    #[serde(rename = "sight", default)]
    pub visibility: Visibility,
    /// CPU time of the proxy's processes at the bounds of the measure phase, ms in ticks of 10 ms;
    /// absent: unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub proxy_cpu_ms: Option<CounterSpan>,
    /// Lines of a foreign proxy's access log that could not be read: their sessions are unknown.
    #[serde(default)]
    pub log_lines_unread: u64,
    /// Requests of which the origin lost its record: what it did with them is not known.
    #[serde(default)]
    pub answers_lost: u64,
    /// What went wrong, if anything: a run with faults is inconclusive.
    pub faults: Vec<Fault>,
    /// What a hold of a live server was, in words, where `turnstile who` captured it: nothing was asked of
    /// the server, and what was not seen has no record. Absent: a trial.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub captured: Option<String>,
    /// What was kept of packets (`--capture`); absent: nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub capture: Option<Capture>,
    /// The signal that cut the run short, as `SIGINT`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interrupted: Option<String>,
}

impl Manifest {
    /// That of a run of `arm` which is about to begin: nothing has happened in it, and nothing is known of
    /// its host.
    pub fn begun(arm: Arm, idle_us: Micros, measure_us: Micros, hold_us: Micros) -> Self {
        let visibility = if arm.server.kind.is_not_started() {
            Visibility::ClientsOnly
        } else {
            Visibility::Own
        };
        Self {
            schema_version: SCHEMA_VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            arm,
            idle_us,
            measure_us,
            hold_us,
            visibility,
            ..Self::default()
        }
    }

    /// Workers of the proxy: as many as it said it has, else as were asked for.
    pub fn worker_count(&self) -> u32 {
        self.workers.unwrap_or(self.arm.proxy.workers)
    }
}

/// The machine a run was made on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// `uname -r`.
    pub kernel: String,
    /// CPU model.
    pub cpu_model: String,
    /// CPUs online.
    pub cpus: usize,
    /// CPUs the workers were put on; empty: not pinned.
    pub worker_cpus: Vec<usize>,
    /// CPUs the load was put on; empty: not pinned.
    pub load_cpus: Vec<usize>,
    /// Memory, KiB.
    pub memory_kib: u64,
    /// Settings of the kernel that bear on the effect, as `net.ipv4.tcp_rmem`.
    pub sysctls: BTreeMap<String, String>,
    /// CPU time the hypervisor withheld from start to end of the run, ms over all CPUs.
    pub stolen_ms: u64,
}

impl Host {
    /// The CPU that `worker` was put on: workers take them in turn. Absent: not pinned.
    pub fn cpu_of(&self, worker: u32) -> Option<usize> {
        let turn = usize::try_from(worker).ok()?.checked_rem(self.worker_cpus.len())?;
        self.worker_cpus.get(turn).copied()
    }
}

/// One process of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleProcess {
    /// Which program.
    pub role: Role,
    /// Its process id.
    pub pid: u32,
    /// Its arguments, program first.
    pub command: Vec<String>,
    /// What it read back from the kernel.
    pub effective: Effective,
}

/// A phase and its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseSpan {
    /// Which one.
    pub phase: Phase,
    /// Its start.
    pub start_ns: MonoNs,
    /// Its end; absent when the run stopped inside it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub end_ns: Option<MonoNs>,
}

/// What went wrong in a run, and on which side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Whose fault.
    pub side: Side,
    /// When it was noticed.
    pub phase: Phase,
    /// What happened.
    pub message: String,
}

/// A side that can be at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The upstream.
    Origin,
    /// The proxy under test.
    Proxy,
    /// The downloads.
    Slow,
    /// The fetches.
    Fast,
    /// The harness or this host.
    Host,
}

impl From<Role> for Side {
    fn from(role: Role) -> Self {
        match role {
            Role::Origin => Self::Origin,
            Role::Proxy => Self::Proxy,
            Role::Slow => Self::Slow,
            Role::Fast => Self::Fast,
            Role::Trace => Self::Host,
        }
    }
}

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
