//! What is seen of workers, sockets and CPUs from outside: samples that the harness takes of the kernel,
//! and what a worker does not tell itself: where it slept, which calls took its time, when it was not in
//! its poll.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Bytes, Micros, MonoNs, Role};

/// A worker slept in a system call other than its poll, for 5 ms or more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    /// Which worker, from 0.
    pub worker: u32,
    /// When it fell asleep.
    pub start_ns: MonoNs,
    /// When it ran again.
    pub end_ns: MonoNs,
    /// The system call, as `pwrite64`; empty: none, a page had to be fetched.
    pub call: String,
    /// The client port of the session whose step it was in, if it was in one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub client_port: Option<u16>,
    /// What could have ended it.
    #[serde(default)]
    pub sleep: Sleep,
}

/// What can end a sleep (the state of the task, include/linux/sched.h).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sleep {
    /// What it waits for, or a signal: a lock, a timer, a socket.
    #[default]
    Interruptible,
    /// Only what it waits for: a disk, mostly.
    Uninterruptible,
}

/// The threads of a program that hand work to each other, as one worker: which of them ran for a while, and
/// for whom. Records of one worker follow each other without a gap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Threads {
    /// Which worker, from 0.
    pub worker: u32,
    /// From when; some 10 ms, or longer where none of them ran.
    pub start_ns: MonoNs,
    /// Until when.
    pub end_ns: MonoNs,
    /// How many different threads ran.
    pub ran: u32,
    /// Their time on a CPU, all together.
    pub run_us: Micros,
    /// Their time without a CPU that they wanted, all together.
    pub wait_us: Micros,
    /// Their time in short uninterruptible sleeps, all together; long ones are told one by one
    /// ([`Blocked`]).
    #[serde(default)]
    pub blocked_us: Micros,
    /// For whom they ran, the most first, at most four: the connection that moved bytes last on the thread
    /// since its last poll.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub served: Vec<Served>,
}

/// Time on a CPU for one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// Its client's port.
    pub client_port: u16,
    /// The time, of all threads together.
    pub run_us: Micros,
}

/// A worker's system calls since it was first seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTotals {
    /// Which worker, from 0.
    pub worker: u32,
    /// When they were taken.
    pub at_ns: MonoNs,
    /// By name, as `readv`.
    pub calls: BTreeMap<String, CallTotal>,
}

/// One system call of a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTotal {
    /// How often it returned.
    pub count: u64,
    /// Time inside it.
    pub time_us: Micros,
    /// Of that, asleep.
    pub asleep_us: Micros,
    /// What it returned, where that is a number of bytes.
    pub bytes: Bytes,
    /// How many moved so many bytes, to 1 % (powers of two are exact). Calls that follow each other on one
    /// descriptor count with their mean. Empty in runs of earlier builds.
    #[serde(with = "pairs", skip_serializing_if = "BTreeMap::is_empty", default)]
    pub sizes: BTreeMap<u64, u64>,
}

/// Sizes as a list of size and count: keys of a JSON object are text, and a tagged record
/// ([`crate::Record`]) does not read them back as numbers.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        sizes: &BTreeMap<u64, u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(sizes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<u64, u64>, D::Error> {
        Vec::<(u64, u64)>::deserialize(deserializer).map(|pairs| pairs.into_iter().collect())
    }
}

/// A worker that was looked at many times and never seen in its poll.
///
/// That it was not there between two looks is likely, not certain: only a trace can tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absence {
    /// Which worker, from 0.
    pub worker: u32,
    /// The first look that did not find it in its poll.
    pub start_ns: MonoNs,
    /// The look that found it there again, or the last one.
    pub end_ns: MonoNs,
    /// Looks, all told.
    pub looks: u32,
    /// Of these, found running.
    pub running: u32,
    /// Found ready to run, without a CPU.
    pub waiting: u32,
    /// Found asleep elsewhere.
    pub blocked: u32,
}

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

/// What the quota of the workers' control group withheld since the group was made (`cpu.stat`,
/// cgroups(7)): theirs and those it lies in together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThrottleSample {
    /// When it was read.
    pub at_ns: MonoNs,
    /// Periods in which the quota was used up (`nr_throttled`).
    pub periods: u64,
    /// Time in which the group had somebody ready and nothing left of its quota, all CPUs together
    /// (`throttled_usec`, `throttled_time`). The kernel adds a wait when it ends.
    pub throttled_us: Micros,
}

/// The accept queue of one listener of the proxy (sock_diag(7)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SocketEnd {
    /// The origin's, towards the proxy.
    #[default]
    Origin,
    /// The proxy's, towards the origin.
    Upstream,
    /// The proxy's, towards a client.
    Downstream,
    /// The slow client's.
    Slow,
}

/// One TCP socket: its queues, and what TCP_INFO says (tcp(7)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
