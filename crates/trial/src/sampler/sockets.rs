//! The sockets of downloads, from the origin to the slow client, and the accept queues of the proxy's
//! listeners, by sock_diag(7).
//!
//! To find connections the kernel walks its whole table, so they are looked for once and looked up
//! by their addresses from then on. Those to the proxy are known by the ports that the slow client
//! dialed from. Those to the origin are taken by what they have received: the largest are the
//! downloads', as many as there are downloads. One that has just begun may be mistaken for a
//! fetch's, until it has received more than a fetch does and the next second begins.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use net::clock;
use net::sock_diag::{Connection, SockDiag};
use records::{ListenerSample, Phase, Record, Role, SocketEnd, SocketSample};

use super::Look;

#[cfg(test)]
mod tests;

/// The downloads that are watched.
#[derive(Debug)]
pub(super) struct Sockets {
    /// Absent: this kernel or container has no such thing.
    diag: Option<SockDiag>,
    phase: Phase,
    /// Clients' ports by slot.
    downloads: BTreeMap<u32, u16>,
    to_proxy: Hop,
    to_origin: Hop,
    /// When those to the origin are to be looked for again.
    renew: Instant,
}

/// One leg of the downloads' path.
#[derive(Debug)]
struct Hop {
    /// Where connections are accepted, once that is known.
    server: Option<SocketAddr>,
    /// What its ends are: the dialing and the accepting one.
    ends: [SocketEnd; 2],
    /// Where its connections were dialed from.
    clients: Vec<SocketAddr>,
}

/// Downloads watched at most, those of the first slots: each has four sockets, so that a look
/// brings 64 samples at most.
const MOST: usize = 16;
/// How long connections to the origin are taken for the downloads'.
const RENEWAL: Duration = Duration::from_secs(1);

impl Look for Sockets {
    /// One walk takes 0.35 ms where `net.ipv4.tcp_ehash_entries` is 262144 (24 GiB of memory), 0.5 ms
    /// in a loaded trial; one socket 3 us (Linux 6.18). With four downloads and a walk each second
    /// that is 0.07 % of a CPU.
    ///
    /// TCP_INFO is read under the socket's lock, which a worker holds while it reads or writes. Of
    /// 25,000 looks at the sockets of a starved trial half took 4 us, one in a hundred 0.2 ms.
    const INTERVAL: Duration = Duration::from_millis(250);

    fn look(&mut self, seen: &mut Vec<Record>) {
        let loaded = matches!(self.phase, Phase::Load | Phase::Measure);
        let Some(diag) = self.diag.as_mut().filter(|_| loaded) else { return };
        let ports: Vec<u16> = self.downloads.values().copied().take(MOST).collect();
        if ports.is_empty() {
            return;
        }

        let hop = &mut self.to_proxy;
        hop.clients.retain(|client| ports.contains(&client.port()));
        if hop.clients.len() < ports.len() {
            hop.find(diag, |found| found.retain(|one| ports.contains(&one.local.port())));
        }
        hop.look(diag, seen);

        let (hop, now) = (&mut self.to_origin, Instant::now());
        if hop.clients.len() < ports.len() || now >= self.renew {
            self.renew = now + RENEWAL;
            hop.find(diag, |found| keep_largest(found, ports.len()));
        }
        hop.look(diag, seen);
    }
}

impl Sockets {
    /// Nothing to look at yet.
    pub(super) fn open() -> Self {
        let hop = |ends| Hop { server: None, ends, clients: Vec::new() };
        Self {
            diag: SockDiag::open().ok(),
            phase: Phase::Setup,
            downloads: BTreeMap::new(),
            to_proxy: hop([SocketEnd::Slow, SocketEnd::Downstream]),
            to_origin: hop([SocketEnd::Upstream, SocketEnd::Origin]),
            renew: Instant::now(),
        }
    }

    /// Where a role accepts connections.
    pub(super) fn listening(&mut self, role: Role, addr: SocketAddr) {
        match role {
            Role::Origin => self.to_origin.server = Some(addr),
            Role::Proxy => self.to_proxy.server = Some(addr),
            Role::Slow | Role::Fast | Role::Trace => {}
        }
    }

    /// A download has a connection, in place of any it had before.
    pub(super) fn dialed(&mut self, slot: u32, client_port: u16) {
        self.downloads.insert(slot, client_port);
    }

    /// A download's connection is closed.
    pub(super) fn ended(&mut self, client_port: u16) {
        self.downloads.retain(|_, port| *port != client_port);
    }

    /// A phase begins: only under load is there anything to see.
    pub(super) fn phase(&mut self, phase: Phase) {
        self.phase = phase;
    }
}

impl Hop {
    /// Looks for connections anew; `choose` leaves those that are to be watched.
    fn find(&mut self, diag: &mut SockDiag, choose: impl FnOnce(&mut Vec<Connection>)) {
        let Some(server) = self.server else { return };
        let mut found = diag.connections_to(server).unwrap_or_default();
        choose(&mut found);
        self.clients = found.iter().map(|connection| connection.local).collect();
    }

    /// Adds both ends of each connection, and forgets those that are gone.
    fn look(&mut self, diag: &mut SockDiag, seen: &mut Vec<Record>) {
        let Some(server) = self.server else { return };
        let [dialing, accepting] = self.ends;
        self.clients.retain(|&client| {
            let near = sample(diag, dialing, client, server, client.port());
            let far = sample(diag, accepting, server, client, client.port());
            let open = near.is_some();
            seen.extend(near.into_iter().chain(far).map(Record::SocketSample));
            open
        });
    }
}

fn sample(
    diag: &mut SockDiag,
    end: SocketEnd,
    local: SocketAddr,
    peer: SocketAddr,
    port: u16,
) -> Option<SocketSample> {
    let at_ns = clock::now();
    let socket = diag.connection(local, peer).ok().flatten()?;
    Some(SocketSample {
        at_ns,
        end,
        port,
        receive_queue: socket.receive_queue,
        send_queue: socket.send_queue,
        rcv_space: socket.info.map(|info| info.rcv_space),
        rwnd_limited_us: socket.info.map(|info| info.rwnd_limited),
        retransmits: socket.info.map(|info| info.retransmits),
    })
}

/// Leaves the `count` connections that have received most.
fn keep_largest(found: &mut Vec<Connection>, count: usize) {
    found.sort_by_key(|one| std::cmp::Reverse(one.info.map(|info| info.received)));
    found.truncate(count);
}

/// The listeners on one address, and their accept queues.
#[derive(Debug)]
pub(super) struct Listeners {
    /// Absent: this kernel or container has no such thing.
    diag: Option<SockDiag>,
    addr: Option<SocketAddr>,
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

    /// Watches all that listen on exactly `addr`.
    pub(super) fn listen(&mut self, addr: SocketAddr) {
        self.addr = Some(addr);
    }
}
