//! What the harness sees of a run from outside, at intervals: threads without a CPU, queues of
//! sockets, counters of the kernel.

use serde::{Deserialize, Serialize};

use crate::{Bytes, Micros, MonoNs, Role};

/// Who is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Watched {
    /// A worker of the proxy, from 0.
    Worker(u32),
    /// The main thread of a role.
    Role(Role),
}

/// A thread's times since it started (`/proc/<pid>/task/<tid>/schedstat`, proc(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedSample {
    /// Whose.
    pub who: Watched,
    /// When it was read.
    pub at_ns: MonoNs,
    /// Time on a CPU.
    pub run_ns: u64,
    /// Time ready to run, without a CPU.
    pub run_wait_ns: u64,
}

/// Where the time of one CPU went since boot (`/proc/stat`, proc(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuSample {
    /// Which CPU.
    pub cpu: u32,
    /// When it was read.
    pub at_ns: MonoNs,
    /// Withheld by the hypervisor (`steal`), ms; the kernel counts in ticks of 10 ms.
    pub stolen_ms: u64,
    /// Used by anything that runs there, interrupts too (`user`, `nice`, `system`, `irq`, `softirq`), ms
    /// in the same ticks; absent in records of an earlier build.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busy_ms: Option<u64>,
}

/// The accept queue of one listener of the proxy (sock_diag(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenerSample {
    /// When it was read.
    pub at_ns: MonoNs,
    /// The listener's inode: [`crate::Ready::listeners`] tells whose it is.
    pub inode: u64,
    /// Connections that wait to be accepted.
    pub queue: u32,
    /// How many may wait: the backlog as the kernel keeps it.
    pub limit: u32,
}

/// Which socket of a download's path, from the origin to the slow client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SocketEnd {
    /// The origin's, towards the proxy.
    Origin,
    /// The proxy's, towards the origin.
    Upstream,
    /// The proxy's, towards a client.
    Downstream,
    /// The slow client's.
    Slow,
}

/// One TCP socket: its queues, and what TCP_INFO says (tcp(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketSample {
    /// When it was read.
    pub at_ns: MonoNs,
    /// Which end of which connection.
    pub end: SocketEnd,
    /// The port that names the connection: the proxy's own towards the origin, the client's towards
    /// the proxy.
    pub port: u16,
    /// Bytes received and not yet read.
    pub receive_queue: Bytes,
    /// Bytes written and not yet acknowledged.
    pub send_queue: Bytes,
    /// What receive buffer tuning takes for the reader's appetite (`tcpi_rcv_space`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rcv_space: Option<Bytes>,
    /// Time in which only the peer's receive window held the sender back (`tcpi_rwnd_limited`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rwnd_limited_us: Option<Micros>,
    /// Segments sent again (`tcpi_total_retrans`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmits: Option<u32>,
}

/// A counter of the kernel at two points of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterSpan {
    /// When the downloads were about to start.
    pub before: u64,
    /// When the last fetch had ended.
    pub after: u64,
}

impl CounterSpan {
    /// By how much it moved.
    pub const fn moved(self) -> u64 {
        self.after.saturating_sub(self.before)
    }
}
