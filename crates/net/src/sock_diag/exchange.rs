//! One question to the kernel and its answers, as netlink(7) carries them.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::{
    ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags,
};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// A socket to the kernel. At most one question is open.
#[derive(Debug)]
pub(super) struct Exchange {
    socket: OwnedFd,
    /// Room for one datagram.
    inbox: Vec<u8>,
}

/// What to ask for.
#[derive(Debug)]
pub(super) struct Question {
    /// Only sockets in one of these states.
    pub(super) states: StateFlags,
    /// What to tell beyond the queues.
    pub(super) extensions: ExtensionFlags,
    /// Only sockets that fit this; a port of zero fits all.
    pub(super) id: SocketId,
    /// How many answers there may be.
    pub(super) extent: Extent,
}

/// How many sockets a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// The one with these addresses.
    One,
    /// All that fit.
    All,
}

/// The kernel never puts more into one datagram (`netlink_recvmsg`).
const DATAGRAM_MAX: usize = 32 * 1024;
/// The kernel's answer where no socket has the addresses asked for.
const NOT_THERE: i32 = -Errno::NOENT.raw_os_error();

impl Exchange {
    /// Opens a socket; the kernel is who an unconnected netlink socket talks to.
    pub(super) fn open(patience: Duration) -> io::Result<Self> {
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            Some(netlink::SOCK_DIAG),
        )?;
        set_socket_timeout(&socket, Timeout::Recv, Some(patience))?;
        Ok(Self { socket, inbox: vec![0; DATAGRAM_MAX] })
    }

    /// Asks, and hands each answer to `take`. After a failure more of them may come: do not ask
    /// again.
    pub(super) fn ask(
        &mut self,
        question: &Question,
        mut take: impl FnMut(&InetResponse),
    ) -> io::Result<()> {
        send(&self.socket, &question.encode(), SendFlags::empty())?;
        loop {
            // A timeout makes recv(2) one of the calls that no signal handler lets start again.
            let (length, _) = retry_on_intr(|| {
                recv(&self.socket, self.inbox.as_mut_slice(), RecvFlags::empty())
            })?;
            let mut datagram = self.inbox.get(..length).unwrap_or_default();
            while !datagram.is_empty() {
                let message = NetlinkMessage::<SockDiagMessage>::deserialize(datagram)
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                let next = aligned(message.header.length);
                datagram = datagram.get(next..).unwrap_or_default();
                match message.payload {
                    NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(response)) => {
                        take(&response);
                        if question.extent == Extent::One {
                            return Ok(());
                        }
                    }
                    NetlinkPayload::Done(done) => return outcome(done.code),
                    NetlinkPayload::Error(error) => {
                        let code = error.code.map_or(0, std::num::NonZero::get);
                        return match question.extent {
                            Extent::One if code == NOT_THERE => Ok(()),
                            _ => outcome(code),
                        };
                    }
                    NetlinkPayload::Overrun(_) => return Err(Errno::NOBUFS.into()),
                    _ => {}
                }
            }
        }
    }
}

impl Question {
    fn encode(&self) -> Vec<u8> {
        let mut header = NetlinkHeader::default();
        header.flags = match self.extent {
            Extent::One => NLM_F_REQUEST,
            Extent::All => NLM_F_REQUEST | NLM_F_DUMP,
        };
        let request = InetRequest {
            family: if self.id.source_address.is_ipv4() { AF_INET } else { AF_INET6 },
            protocol: IPPROTO_TCP,
            extensions: self.extensions.clone(),
            states: self.states.clone(),
            socket_id: self.id.clone(),
        };
        let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(request).into());
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        bytes
    }
}

/// Where the next message of a datagram begins (`NLMSG_ALIGN`).
fn aligned(length: u32) -> usize {
    (length as usize).next_multiple_of(4).max(4)
}

/// Zero, or a negative errno.
fn outcome(code: i32) -> io::Result<()> {
    match code {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code.saturating_neg())),
    }
}
