//! What the workers have still to read of the downloads, and the accept queues of the proxy's listeners, by
//! sock_diag(7).
//!
//! The connections to the origin that have received most are taken for the downloads', as many as there are
//! downloads. One that has just begun may be mistaken for a fetch's, until it has received more than a fetch
//! does.

use std::cmp::Reverse;
use std::net::SocketAddr;
use std::time::Duration;

use net::clock;
use net::sock_diag::SockDiag;
use records::{ListenerSample, Phase, Record};

use super::Look;

#[cfg(test)]
mod tests;

/// The proxy's connections to the origin that are watched.
#[derive(Debug)]
pub(super) struct Upstreams {
    /// Absent: this kernel or container has no such thing.
    diag: Option<SockDiag>,
    downloads: usize,
    /// Only under load is there anything to see.
    pub(super) phase: Phase,
    /// Where connections are accepted, once that is known.
    pub(super) origin: Option<SocketAddr>,
}

/// Downloads watched at most: one look brings as many samples.
const MOST: usize = 16;

impl Look for Upstreams {
    /// One walk through the kernel's table takes 0.35 ms where `net.ipv4.tcp_ehash_entries` is 262144 (24 GiB of
    /// memory), 0.5 ms in a loaded trial (Linux 6.18): 0.2 % of a CPU.
    ///
    /// TCP_INFO is read under the socket's lock, which a worker holds while it reads or writes. Of
    /// 25,000 looks at the sockets of a starved trial half took 4 us, one in a hundred 0.2 ms.
    const INTERVAL: Duration = Duration::from_millis(250);

    fn look(&mut self, seen: &mut Vec<Record>) {
        let is_loaded = matches!(self.phase, Phase::Load | Phase::Measure);
        let (Some(diag), Some(origin), true) = (&mut self.diag, self.origin, is_loaded) else {
            return;
        };
        let mut found = diag.connections_to(origin).unwrap_or_default();
        found.sort_by_key(|one| Reverse(one.received));
        seen.extend(found.iter().take(self.downloads).map(|one| Record::SocketSample(one.sample)));
    }
}

impl Upstreams {
    /// Those of so many downloads; nothing to look at yet.
    pub(super) fn open(downloads: u32) -> Self {
        Self {
            diag: SockDiag::open().ok(),
            downloads: MOST.min(downloads as usize),
            phase: Phase::Setup,
            origin: None,
        }
    }
}

/// The listeners on one address, and their accept queues.
#[derive(Debug)]
pub(super) struct Listeners {
    /// Absent: this kernel or container has no such thing.
    diag: Option<SockDiag>,
    /// Exactly this one is watched, once it is known.
    pub(super) addr: Option<SocketAddr>,
}

impl Look for Listeners {
    /// One look takes 18 us where the kernel's table of listeners has 16384 entries (24 GiB of
    /// memory), 75 us in a loaded trial (Linux 6.18): 0.15 % of a CPU.
    const INTERVAL: Duration = Duration::from_millis(50);

    fn look(&mut self, seen: &mut Vec<Record>) {
        let (Some(diag), Some(addr)) = (&mut self.diag, self.addr) else { return };
        let at_ns = clock::now();
        let listeners = diag.listeners(addr).unwrap_or_default();
        seen.extend(listeners.into_iter().map(|listener| {
            Record::ListenerSample(ListenerSample {
                at_ns,
                inode: listener.inode,
                queue: listener.queue,
                limit: listener.limit,
            })
        }));
    }
}

impl Listeners {
    /// Nothing to look at yet.
    pub(super) fn open() -> Self {
        Self { diag: SockDiag::open().ok(), addr: None }
    }
}
