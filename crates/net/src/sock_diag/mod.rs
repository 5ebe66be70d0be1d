//! TCP sockets of this host as the kernel sees them, whoever owns them: sock_diag(7).
//!
//! It tells what `ss -tni` tells, to any user: how many connections wait in a listener's accept
//! queue, what stands in a connection's queues, what TCP_INFO says. Sockets of other network
//! namespaces are not seen.
//!
//! Not for: our own sockets, which tell more by getsockopt(2), or for changing any.
//!
//! Invariants:
//! - No call waits longer than [`SockDiag::PATIENCE`] for an answer.
//! - The answer to a question that was given up on is never taken for one to the next.

mod exchange;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use netlink_packet_sock_diag::constants::TCP_ESTABLISHED;
use netlink_packet_sock_diag::inet::nlas::Nla;
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetResponse, SocketId, StateFlags};
use records::{Bytes, Micros};
use rustix::io::Errno;

use exchange::{Exchange, Extent, Question};

#[cfg(test)]
mod tests;

/// A way to ask the kernel about sockets.
#[derive(Debug)]
pub struct SockDiag {
    /// Absent after a failure: more of that answer may come, so the next question goes another way.
    idle: Option<Exchange>,
}

/// A listening socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptQueue {
    /// Where it listens.
    pub addr: SocketAddr,
    /// The socket's inode, as `/proc/<pid>/fd` names it.
    pub inode: u64,
    /// Connections that wait to be accepted (`idiag_rqueue`).
    pub queue: u32,
    /// How many may wait: the backlog as the kernel keeps it (`idiag_wqueue`). It lets one more in.
    pub limit: u32,
}

/// A TCP connection, as the socket at its local end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Its own address.
    pub local: SocketAddr,
    /// The address it is connected to.
    pub peer: SocketAddr,
    /// Bytes received and not yet read (`idiag_rqueue`).
    pub receive_queue: Bytes,
    /// Bytes written and not yet acknowledged (`idiag_wqueue`).
    pub send_queue: Bytes,
    /// What TCP_INFO says; absent where the kernel does not tell.
    pub info: Option<Figures>,
}

/// Some of TCP_INFO, tcp(7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Bytes received in order since it was opened (`tcpi_bytes_received`).
    pub received: Bytes,
    /// What receive buffer tuning takes for the reader's appetite (`tcpi_rcv_space`).
    pub rcv_space: Bytes,
    /// Time in which only the peer's receive window held the sender back (`tcpi_rwnd_limited`).
    pub rwnd_limited: Micros,
    /// Segments sent again since it was opened (`tcpi_total_retrans`).
    pub retransmits: u32,
}

impl SockDiag {
    /// How long one answer may take. The kernel answers within the call that asks, unless a socket
    /// is locked by a thread that lost its CPU.
    pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(1);

    /// Opens the way; every user may.
    ///
    /// # Errors
    /// This kernel or container has no NETLINK_SOCK_DIAG (EPROTONOSUPPORT, EPERM), or no descriptor
    /// is left.
    pub fn open() -> io::Result<Self> {
        Ok(Self { idle: Some(Exchange::open(Self::PATIENCE)?) })
    }

    /// Every socket that listens on exactly `addr`: several when they share it (SO_REUSEPORT).
    ///
    /// The kernel walks its table of listeners for that: 18 us of CPU for its 16384 entries (the
    /// same host; `tcp_listen_portaddr_hash` in its boot messages).
    ///
    /// # Errors
    /// The kernel does not tell: ENOENT without the module `inet_diag`, a timeout after
    /// [`Self::PATIENCE`].
    pub fn listeners(&mut self, addr: SocketAddr) -> io::Result<Vec<AcceptQueue>> {
        let mut found = self.listening(addr.ip(), addr.port())?;
        found.retain(|queue| queue.addr == addr);
        Ok(found)
    }

    /// Every socket that listens, wherever.
    ///
    /// # Errors
    /// As [`Self::listeners`].
    pub fn all_listeners(&mut self) -> io::Result<Vec<AcceptQueue>> {
        let mut found = self.listening(Ipv4Addr::UNSPECIFIED.into(), 0)?;
        // Asked for IPv6, the kernel answers with nothing where it has none.
        found.extend(self.listening(Ipv6Addr::UNSPECIFIED.into(), 0)?);
        Ok(found)
    }

    /// Those of the family of `family` that listen on `port`, or on any if it is zero.
    fn listening(&mut self, family: IpAddr, port: u16) -> io::Result<Vec<AcceptQueue>> {
        let mut id = any(family);
        id.source_port = port;
        let question = Question {
            states: StateFlags::LISTEN,
            extensions: ExtensionFlags::empty(),
            id,
            extent: Extent::All,
        };
        let mut found = Vec::new();
        self.ask(&question, |response| {
            let header = &response.header;
            found.push(AcceptQueue {
                addr: local(response),
                inode: u64::from(header.inode),
                queue: header.recv_queue,
                limit: header.send_queue,
            });
        })?;
        Ok(found)
    }

    /// Every established connection to `peer`, as the sockets of those who dialed it.
    ///
    /// The kernel walks its whole table for that, however few there are: 0.35 ms of CPU where
    /// `net.ipv4.tcp_ehash_entries` is 262144 (24 GiB of memory, Linux 6.18).
    ///
    /// # Errors
    /// As [`Self::listeners`].
    pub fn connections_to(&mut self, peer: SocketAddr) -> io::Result<Vec<Connection>> {
        let mut id = any(peer.ip());
        id.destination_port = peer.port();
        let question = Question {
            states: StateFlags::ESTABLISHED,
            extensions: ExtensionFlags::INFO,
            id,
            extent: Extent::All,
        };
        let mut found = Vec::new();
        self.ask(&question, |response| {
            let connection = Connection::from(response);
            if connection.peer == peer {
                found.push(connection);
            }
        })?;
        Ok(found)
    }

    /// The one connection between two addresses, as the socket at `local`; `None`: there is none.
    /// The kernel looks it up, which takes 3 us where [`Self::connections_to`] takes 300.
    ///
    /// Where the kernel lacks the module `inet_diag`, that looks as if there were none.
    ///
    /// # Errors
    /// As [`Self::listeners`]; the addresses are not of one family (EINVAL).
    pub fn connection(
        &mut self,
        local: SocketAddr,
        peer: SocketAddr,
    ) -> io::Result<Option<Connection>> {
        let id = SocketId {
            source_port: local.port(),
            destination_port: peer.port(),
            source_address: local.ip(),
            destination_address: peer.ip(),
            interface_id: 0,
            // INET_DIAG_NOCOOKIE: whichever socket has these addresses.
            cookie: [0xff; 8],
        };
        if local.is_ipv4() != peer.is_ipv4() {
            return Err(Errno::INVAL.into());
        }
        let question = Question {
            states: StateFlags::ESTABLISHED,
            extensions: ExtensionFlags::INFO,
            id,
            extent: Extent::One,
        };
        let mut found = None;
        self.ask(&question, |response| {
            // Where no such connection is, the kernel tells of one that fades, or of a listener.
            found = (response.header.state == TCP_ESTABLISHED).then(|| response.into());
        })?;
        Ok(found)
    }

    fn ask(&mut self, question: &Question, take: impl FnMut(&InetResponse)) -> io::Result<()> {
        let open = || Exchange::open(Self::PATIENCE);
        let mut exchange = self.idle.take().map_or_else(open, Ok)?;
        exchange.ask(question, take)?;
        self.idle = Some(exchange);
        Ok(())
    }
}

impl From<&InetResponse> for Connection {
    fn from(response: &InetResponse) -> Self {
        let InetResponse { header, nlas } = response;
        let info = nlas.iter().find_map(|attribute| match attribute {
            Nla::TcpInfo(info) => Some(Figures {
                received: Bytes(info.bytes_received),
                rcv_space: Bytes(u64::from(info.rcv_space)),
                rwnd_limited: Micros(info.rwnd_limited),
                retransmits: info.total_retrans,
            }),
            _ => None,
        });
        let id = &header.socket_id;
        Self {
            local: local(response),
            peer: SocketAddr::new(id.destination_address, id.destination_port),
            receive_queue: Bytes(u64::from(header.recv_queue)),
            send_queue: Bytes(u64::from(header.send_queue)),
            info,
        }
    }
}

fn local(response: &InetResponse) -> SocketAddr {
    let id = &response.header.socket_id;
    SocketAddr::new(id.source_address, id.source_port)
}

/// A pattern that every socket of a family fits.
fn any(family: IpAddr) -> SocketId {
    match family {
        IpAddr::V4(_) => SocketId::new_v4(),
        IpAddr::V6(_) => SocketId::new_v6(),
    }
}
