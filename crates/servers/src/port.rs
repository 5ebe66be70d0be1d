//! A free port, kept free until the program has it.

use std::io;
use std::net::SocketAddr;

use records::ListenerMode;
use socket2::{Domain, Protocol, Socket, Type};

use crate::server::PortCare;

/// A port that nobody listens on.
///
/// A socket that is bound with SO_REUSEADDR and does not listen keeps others from being given the
/// port, and lets a socket with the same option bind it (socket(7), `inet_csk_bind_conflict`).
#[derive(Debug)]
pub(crate) struct Reservation {
    pub(crate) addr: SocketAddr,
    _holder: Option<Socket>,
}

impl Reservation {
    /// The port of `addr`, or a free one if that is 0.
    ///
    /// # Errors
    /// Somebody listens on it, or it may not be used.
    pub(crate) fn of(addr: SocketAddr, care: PortCare) -> io::Result<Self> {
        // Of its own listener the kernel lets nobody bind beside it, whatever its options: so this
        // finds one that shares its port as well.
        let listen = net::tcp::Listen {
            addr,
            mode: ListenerMode::Shared,
            backlog: 1,
            buffers: net::tcp::Buffers::default(),
        };
        if addr.port() != 0 {
            drop(listen.open()?);
        }
        let holder = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
        holder.set_reuse_address(true)?;
        holder.bind(&addr.into())?;
        let bound = holder.local_addr()?.as_socket();
        let addr = bound.ok_or_else(|| io::Error::other("a socket without an address"))?;
        Ok(Self { addr, _holder: (care == PortCare::Held).then_some(holder) })
    }
}
