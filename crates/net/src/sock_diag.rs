//! TCP sockets of this host as the kernel sees them, whoever owns them: sock_diag(7) over netlink(7).
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

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::nlas::Nla;
use netlink_packet_sock_diag::inet::{
    ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags,
};
use records::{Bytes, Micros, MonoNs, SocketEnd, SocketSample};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

use crate::clock;

#[cfg(test)]
mod tests;

/// A way to ask the kernel about sockets.
#[derive(Debug)]
pub struct SockDiag {
    /// Absent after a failure: more of that answer may come, so the next question goes another way.
    idle: Option<OwnedFd>,
    /// Room for one datagram.
    inbox: Vec<u8>,
}

/// The kernel never puts more into one datagram (`netlink_recvmsg`).
const DATAGRAM_MAX: usize = 32 * 1024;

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
    /// Bytes received in order since it was opened (`tcpi_bytes_received`); absent where the kernel does not
    /// tell.
    pub received: Option<Bytes>,
    /// What else there is to see of it: of a proxy's connection to its origin.
    pub sample: SocketSample,
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
        Ok(Self { idle: Some(connect()?), inbox: vec![0; DATAGRAM_MAX] })
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
        let mut found = Vec::new();
        self.ask(StateFlags::LISTEN, ExtensionFlags::empty(), id, |response| {
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
        let (at_ns, mut found) = (clock::now(), Vec::new());
        self.ask(StateFlags::ESTABLISHED, ExtensionFlags::INFO, id, |response| {
            let id = &response.header.socket_id;
            if SocketAddr::new(id.destination_address, id.destination_port) == peer {
                found.push(Connection::of(response, at_ns));
            }
        })?;
        Ok(found)
    }

    /// Asks for all sockets that fit, where a port of zero fits all, and hands each answer to `take`.
    fn ask(
        &mut self,
        states: StateFlags,
        extensions: ExtensionFlags,
        socket_id: SocketId,
        mut take: impl FnMut(&InetResponse),
    ) -> io::Result<()> {
        let socket = self.idle.take().map_or_else(connect, Ok)?;
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_DUMP;
        let family = if socket_id.source_address.is_ipv4() { AF_INET } else { AF_INET6 };
        let protocol = IPPROTO_TCP;
        let request = InetRequest { family, protocol, extensions, states, socket_id };
        let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(request).into());
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        send(&socket, &bytes, SendFlags::empty())?;
        let mut over = false;
        while !over {
            // A timeout makes recv(2) one of the calls that no signal handler lets start again.
            let (length, _) =
                retry_on_intr(|| recv(&socket, self.inbox.as_mut_slice(), RecvFlags::empty()))?;
            let mut datagram = self.inbox.get(..length).unwrap_or_default();
            while !datagram.is_empty() && !over {
                let message = NetlinkMessage::<SockDiagMessage>::deserialize(datagram)
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                // `NLMSG_ALIGN`
                let next = (message.header.length as usize).next_multiple_of(4).max(4);
                datagram = datagram.get(next..).unwrap_or_default();
                match message.payload {
                    NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(response)) => {
                        take(&response);
                    }
                    NetlinkPayload::Done(done) => {
                        succeeded(done.code)?;
                        over = true;
                    }
                    NetlinkPayload::Error(error) => {
                        succeeded(error.code.map_or(0, std::num::NonZero::get))?;
                        over = true;
                    }
                    NetlinkPayload::Overrun(_) => return Err(Errno::NOBUFS.into()),
                    _ => {}
                }
            }
        }
        self.idle = Some(socket);
        Ok(())
    }
}

/// A socket to the kernel: that is who an unconnected netlink socket talks to.
fn connect() -> io::Result<OwnedFd> {
    let (family, protocol) = (AddressFamily::NETLINK, Some(netlink::SOCK_DIAG));
    let socket = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, protocol)?;
    set_socket_timeout(&socket, Timeout::Recv, Some(SockDiag::PATIENCE))?;
    Ok(socket)
}

/// Zero, or a negative errno.
fn succeeded(code: i32) -> io::Result<()> {
    match code {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code.saturating_neg())),
    }
}

impl Connection {
    fn of(InetResponse { header, nlas }: &InetResponse, at_ns: MonoNs) -> Self {
        let info = nlas.iter().find_map(|attribute| match attribute {
            Nla::TcpInfo(info) => Some(info),
            _ => None,
        });
        let sample = SocketSample {
            at_ns,
            end: SocketEnd::Upstream,
            port: header.socket_id.source_port,
            receive_queue: Bytes(header.recv_queue.into()),
            send_queue: Bytes(header.send_queue.into()),
            rcv_space: info.map(|info| Bytes(info.rcv_space.into())),
            rwnd_limited_us: info.map(|info| Micros(info.rwnd_limited)),
            retransmits: info.map(|info| info.total_retrans),
        };
        Self { received: info.map(|info| Bytes(info.bytes_received)), sample }
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
