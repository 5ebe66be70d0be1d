//! The accept queues of the watched processes: which listener is whose, and how many wait in it.
//!
//! A listener belongs to a process whose epoll watches it; of one that polls otherwise, or not just now,
//! all that it has open do. (A worker of nginx has the listeners of its siblings open as well.)

use std::collections::{BTreeMap, BTreeSet};

use net::sock_diag::{AcceptQueue, SockDiag};
use procfs::net::{TcpNetEntry, TcpState};
use procfs::process::{FDTarget, Process};

/// Whose listeners there are, and a way to ask for their queues.
#[derive(Debug)]
pub(super) struct Queues {
    /// Absent: this kernel or container has no such thing.
    diag: Option<SockDiag>,
    /// The listeners of each process.
    of: BTreeMap<u32, BTreeSet<u64>>,
    /// Processes in another network namespace, where sock_diag(7) does not see.
    elsewhere: BTreeSet<u32>,
}

/// One look at the queues.
#[derive(Clone, Debug, Default)]
pub(super) struct Look {
    /// Every listener of the watched processes.
    pub(super) listeners: Vec<AcceptQueue>,
    /// Their inodes, by process.
    pub(super) of: BTreeMap<u32, BTreeSet<u64>>,
}

impl Queues {
    /// Of nobody yet.
    pub(super) fn open() -> Self {
        Self { diag: SockDiag::open().ok(), of: BTreeMap::new(), elsewhere: BTreeSet::new() }
    }

    /// Learns which listeners these processes have, and forgets all others. Takes a look at each open
    /// descriptor: not for every tick.
    pub(super) fn learn(&mut self, pids: &[u32]) {
        let all: BTreeSet<u64> = self.here().iter().map(|queue| queue.inode).collect();
        let own = namespace("self");
        self.elsewhere = pids.iter().copied().filter(|pid| namespace(pid) != own).collect();
        self.of.clear();
        for &pid in pids {
            let there = self.elsewhere.contains(&pid).then(|| inodes(&elsewhere(pid)));
            let listeners = there.as_ref().unwrap_or(&all);
            let open: BTreeSet<u64> =
                open_sockets(pid).filter(|inode| listeners.contains(inode)).collect();
            let polled: BTreeSet<u64> = polled(pid).intersection(&open).copied().collect();
            self.of.insert(pid, if polled.is_empty() { open } else { polled });
        }
    }

    /// How many wait now.
    pub(super) fn look(&mut self) -> Look {
        let mut listeners = self.here();
        // One of each namespace would do; of several in one, the later rows are the same.
        listeners.extend(self.elsewhere.iter().flat_map(|&pid| elsewhere(pid)));
        let known: BTreeSet<u64> = self.of.values().flatten().copied().collect();
        listeners.retain(|queue| known.contains(&queue.inode));
        listeners.sort_by_key(|queue| queue.inode);
        listeners.dedup_by_key(|queue| queue.inode);
        Look { listeners, of: self.of.clone() }
    }

    fn here(&mut self) -> Vec<AcceptQueue> {
        self.diag.as_mut().and_then(|diag| diag.all_listeners().ok()).unwrap_or_default()
    }
}

fn inodes(queues: &[AcceptQueue]) -> BTreeSet<u64> {
    queues.iter().map(|queue| queue.inode).collect()
}

/// The network namespace of a process; `None` where we may not know.
fn namespace(pid: impl std::fmt::Display) -> Option<std::path::PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/ns/net")).ok()
}

/// Listeners in the network namespace of a process, by its tables: proc_pid_net(5) has the length of an
/// accept queue as that of the receive queue, and not its limit.
fn elsewhere(pid: u32) -> Vec<AcceptQueue> {
    let Some(process) = i32::try_from(pid).ok().and_then(|pid| Process::new(pid).ok()) else {
        return Vec::new();
    };
    let tables = [process.tcp(), process.tcp6()].into_iter().flatten().flatten();
    let listening = tables.filter(|row| row.state == TcpState::Listen);
    let queue = |row: TcpNetEntry| AcceptQueue {
        addr: row.local_address,
        inode: row.inode,
        queue: row.rx_queue,
        limit: 0,
    };
    listening.map(queue).collect()
}

/// Inodes of the sockets that a process has open; none where we may not look.
pub(super) fn open_sockets(pid: u32) -> impl Iterator<Item = u64> {
    descriptors(pid).filter_map(|(_, target)| match target {
        FDTarget::Socket(inode) => Some(inode),
        _ => None,
    })
}

fn descriptors(pid: u32) -> impl Iterator<Item = (i32, FDTarget)> {
    let process = i32::try_from(pid).ok().and_then(|pid| Process::new(pid).ok());
    let fds = process.and_then(|process| process.fd().ok());
    fds.into_iter().flatten().flatten().map(|fd| (fd.fd, fd.target))
}

/// Inodes of all that the epolls of a process watch (`tfd:` lines of proc_pid_fdinfo(5)).
fn polled(pid: u32) -> BTreeSet<u64> {
    let is_epoll =
        |target: &FDTarget| matches!(target, FDTarget::AnonInode(kind) if kind == "[eventpoll]");
    let epolls = descriptors(pid).filter(|(_, target)| is_epoll(target));
    let texts = epolls
        .filter_map(|(fd, _)| std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{fd}")).ok());
    texts.flat_map(|text| text.lines().filter_map(watched).collect::<Vec<_>>()).collect()
}

/// The inode in one line: `tfd: 6 events: 10000019 data: 0 pos:0 ino:2b1f sdev:9`.
fn watched(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("tfd:")?;
    let inode = rest.split_whitespace().find_map(|word| word.strip_prefix("ino:"))?;
    u64::from_str_radix(inode, 16).ok()
}
