//! The accept queues of the watched processes: which listener is whose, and how many wait in it.
//!
//! A listener belongs to a process whose epoll watches it; of one that polls otherwise, or not just now,
//! all that it has open do. (A worker of nginx has the listeners of its siblings open as well.)

use std::collections::{BTreeMap, BTreeSet};

use net::sock_diag::{AcceptQueue, SockDiag};
use probe::process::{listeners, open_sockets, polled};
use procfs::net::TcpNetEntry;

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

/// Listeners in the network namespace of a process. Their limits are not known.
fn elsewhere(pid: u32) -> Vec<AcceptQueue> {
    let queue = |row: TcpNetEntry| AcceptQueue {
        addr: row.local_address,
        inode: row.inode,
        queue: row.rx_queue,
        limit: 0,
    };
    listeners(pid).into_iter().map(queue).collect()
}
