//! What the kernel says of this machine, of its TCP and of the proxy, from outside (proc(5)): for the
//! manifest, read once or at the bounds of a phase.
//!
//! Not for: what is read again and again; that is the sampler's.
//!
//! Invariant: what the kernel hides is left out, or zero where the manifest has it so.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use net::process::sysctl;
use procfs::process::Process;
use procfs::{Current, CurrentSI};
use records::{Bytes, CounterSpan, Host};

use super::cpu_plan::CpuPlan;

#[cfg(test)]
mod tests;

/// Settings of the kernel that bear on the effect.
const SYSCTLS: [&str; 9] = [
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_max",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_migrate_req",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
];

/// Reads what there is; what the kernel hides is left out or zero.
pub fn read(plan: &CpuPlan) -> Host {
    let model = procfs::CpuInfo::current().ok();
    Host {
        kernel: sysctl("kernel.osrelease").unwrap_or_default(),
        cpu_model: model
            .as_ref()
            .and_then(|cpus| cpus.model_name(0))
            .unwrap_or_default()
            .to_owned(),
        cpus: procfs::KernelStats::current().map_or(1, |stats| stats.cpu_time.len().max(1)),
        worker_cpus: CpuPlan::numbers(plan.workers.as_ref()),
        load_cpus: CpuPlan::numbers(plan.load.as_ref()),
        memory_kib: procfs::Meminfo::current().map_or(0, |memory| memory.mem_total / 1024),
        sysctls: (SYSCTLS.iter())
            .filter_map(|&name| Some((name.to_owned(), sysctl(name)?)))
            .collect(),
        stolen_ms: 0,
    }
}

/// The most that SO_RCVBUF may ask for (socket(7)).
pub(crate) fn rmem_max() -> Option<Bytes> {
    sysctl("net.core.rmem_max")?.parse().ok().map(Bytes)
}

/// CPU time the hypervisor withheld since boot, ms over all CPUs (proc(5), `steal`).
pub(crate) fn stolen_ms() -> Option<u64> {
    let ticks = procfs::KernelStats::current().ok()?.total.steal?;
    Some(ticks * 1_000 / procfs::ticks_per_second().max(1))
}

/// Counters of the kernel's TCP at one point of time, as `TcpExt.ListenOverflows`. They count for all
/// sockets of this network namespace, whoever owns them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters(BTreeMap<&'static str, u64>);

/// Both have the same format.
const FILES: [&str; 2] = ["/proc/thread-self/net/netstat", "/proc/thread-self/net/snmp"];

/// What bears on a connection that was late. Their meaning: `SNMP_MIB_ITEM` and
/// `Documentation/networking/snmp_counter.rst` in the kernel's source.
const WATCHED: [&str; 17] = [
    // A handshake that found the accept queue full; and one that was dropped for any reason.
    "TcpExt.ListenOverflows",
    "TcpExt.ListenDrops",
    // A SYN that found the queue of unfinished handshakes full: dropped, or answered by a cookie.
    "TcpExt.TCPReqQFullDrop",
    "TcpExt.TCPReqQFullDoCookies",
    // Timers that fired; SYNs and SYN-ACKs sent again; segments sent again.
    "TcpExt.TCPTimeouts",
    "TcpExt.TCPSynRetrans",
    "Tcp.RetransSegs",
    // Segments sent; a large one that is cut on its way counts as its parts.
    "Tcp.OutSegs",
    "TcpExt.TCPFastRetrans",
    "TcpExt.TCPLostRetransmit",
    // Receive buffers without room: queues that were repacked, pruned, or cut.
    "TcpExt.TCPRcvCollapsed",
    "TcpExt.PruneCalled",
    "TcpExt.RcvPruned",
    "TcpExt.TCPRcvQDrop",
    "TcpExt.TCPZeroWindowDrop",
    // Segments that found the queue of a locked socket full.
    "TcpExt.TCPBacklogDrop",
    // Connections given up for want of memory.
    "TcpExt.TCPAbortOnMemory",
];

impl Counters {
    /// What they are now. It takes 0.1 ms.
    pub(super) fn read() -> Self {
        let texts = FILES.iter().filter_map(|path| fs::read_to_string(path).ok());
        Self(texts.flat_map(|text| watched(&text)).collect())
    }

    /// What they were at this point and are at a later one; only what was read at both.
    pub(super) fn until(&self, later: &Self) -> BTreeMap<String, CounterSpan> {
        let span = |(&name, &before): (&&'static str, &u64)| {
            let after = *later.0.get(name)?;
            Some((name.to_owned(), CounterSpan { before, after }))
        };
        self.0.iter().filter_map(span).collect()
    }
}

/// The watched counters in a text of line pairs: names and values, both after the same `TcpExt:`.
fn watched(text: &str) -> Vec<(&'static str, u64)> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let (Some((group, names)), Some((same, values))) =
            (names.split_once(": "), values.split_once(": "))
        else {
            continue;
        };
        if group != same {
            continue;
        }
        for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
            let is_it = |watched: &&&str| watched.split_once('.') == Some((group, name));
            // A value below zero, as MaxConn has, is a setting and no counter.
            if let (Some(watched), Ok(value)) = (WATCHED.iter().find(is_it), value.parse()) {
                found.push((*watched, value));
            }
        }
    }
    found
}

/// CPU time of the proxy under test, whatever it consists of: of the processes that run the file `program` and are `root` or descend from it, in ms;
/// `None`: none is there, or the kernel hides them.
///
/// Those that ended before are not in it: nobody waits for a worker's CPU time but its parent.
pub(super) fn used_ms(root: u32, program: &Path) -> Option<u64> {
    let runs = |pid: i32| Process::new(pid).and_then(|process| process.exe());
    let family = net::process::family(root.cast_signed()).into_iter();
    let ours = family.filter(|stat| runs(stat.pid).is_ok_and(|exe| exe == program));
    let ticks = ours.map(|stat| stat.utime + stat.stime).reduce(u64::saturating_add)?;
    Some(ticks.saturating_mul(1_000) / procfs::ticks_per_second().max(1))
}
