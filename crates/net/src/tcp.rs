//! TCP sockets with their buffers and listeners with their mode, each option read back.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use nix::libc;
use nix::sys::socket::{getsockopt, setsockopt};
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};
use records::{Bytes, Congestion, ListenerMode, SocketSetting};
use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};

use crate::process::sysctl;

/// Buffer sizes of a socket as asked for; absent: the kernel tunes them (tcp(7)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    /// SO_RCVBUF.
    pub rcvbuf: Option<Bytes>,
    /// SO_SNDBUF.
    pub sndbuf: Option<Bytes>,
}

impl Buffers {
    /// Sets what was asked for. The kernel caps it silently at `net.core.{r,w}mem_max` and keeps
    /// twice the value (socket(7)), so read it back with [`Self::read_back`].
    ///
    /// # Errors
    /// As `setsockopt(2)`.
    pub fn apply(self, socket: &Socket) -> io::Result<()> {
        if let Some(size) = self.rcvbuf {
            socket.set_recv_buffer_size(as_int(size))?;
        }
        if let Some(size) = self.sndbuf {
            socket.set_send_buffer_size(as_int(size))?;
        }
        Ok(())
    }

    /// Both options of `socket`, named after `what`, requested beside effective.
    ///
    /// # Errors
    /// As `getsockopt(2)`.
    pub fn read_back(self, socket: &Socket, what: &str) -> io::Result<Vec<SocketSetting>> {
        let setting = |option: &str, requested, effective| SocketSetting {
            name: format!("{what} {option}"),
            requested,
            effective: Bytes(effective as u64),
        };
        let (received, sent) = (socket.recv_buffer_size()?, socket.send_buffer_size()?);
        Ok(vec![
            setting("SO_RCVBUF", self.rcvbuf, received),
            setting("SO_SNDBUF", self.sndbuf, sent),
        ])
    }
}

/// setsockopt(2) takes an int: more than it holds would come round as a small size, or as none.
fn as_int(size: Bytes) -> usize {
    size.as_usize().min(i32::MAX as usize)
}

/// Chooses the congestion control of `socket`; a listener hands it on to what it accepts.
///
/// # Errors
/// This kernel has no such algorithm, or keeps it for root; the message names those that are free.
pub fn set_congestion(socket: &Socket, congestion: &Congestion) -> io::Result<()> {
    let Some(name) = congestion.name() else { return Ok(()) };
    socket.set_tcp_congestion(name.as_bytes()).map_err(|source| {
        let allowed = sysctl("net.ipv4.tcp_allowed_congestion_control");
        let allowed = allowed.as_deref().unwrap_or("system");
        io::Error::new(
            source.kind(),
            format!(
                "cannot use congestion control {name} ({source}): this kernel allows {allowed}"
            ),
        )
    })
}

/// The congestion control of `socket`, by name.
///
/// # Errors
/// As `getsockopt(2)`.
pub fn congestion(socket: &Socket) -> io::Result<String> {
    let name = socket.tcp_congestion()?;
    let text = name.split(|&byte| byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(text).into_owned())
}

/// A listening socket to be.
#[derive(Clone, Copy, Debug)]
pub struct Listen {
    /// Where; port 0: a free one.
    pub addr: SocketAddr,
    /// Whether others may listen on the same port (SO_REUSEPORT, set before bind).
    pub mode: ListenerMode,
    /// `listen(2)` backlog; the kernel caps it at `net.core.somaxconn`.
    pub backlog: u32,
    /// Buffers that accepted sockets inherit.
    pub buffers: Buffers,
}

impl Listen {
    /// Opens a non-blocking listener.
    ///
    /// # Errors
    /// The port is taken or may not be used; the message names the address.
    pub fn open(&self) -> io::Result<Socket> {
        self.try_open().map_err(|source| {
            let advice = match source.kind() {
                io::ErrorKind::AddrInUse => ": choose another port, or 0 for a free one",
                io::ErrorKind::AddrNotAvailable => ": choose an address of this host, as 127.0.0.1",
                io::ErrorKind::PermissionDenied => ": ports under 1024 need root",
                _ => "",
            };
            io::Error::new(
                source.kind(),
                format!("cannot listen on {}: {source}{advice}", self.addr),
            )
        })
    }

    fn try_open(&self) -> io::Result<Socket> {
        let socket = stream_socket(self.addr)?;
        socket.set_reuse_address(true)?;
        if self.mode == ListenerMode::Reuseport {
            socket.set_reuse_port(true)?;
        }
        self.buffers.apply(&socket)?;
        socket.bind(&self.addr.into())?;
        socket.listen(i32::try_from(self.backlog).unwrap_or(i32::MAX))?;
        Ok(socket)
    }
}

/// A connection to be.
#[derive(Clone, Copy, Debug)]
pub struct Dial {
    /// To where.
    pub addr: SocketAddr,
    /// From which address; absent: the kernel chooses address and port.
    pub from: Option<SocketAddr>,
    /// Set before the connect, so that the window scale fits them.
    pub buffers: Buffers,
}

impl Dial {
    /// A socket with its buffers set, connected to nothing yet.
    ///
    /// # Errors
    /// As `socket(2)` and `setsockopt(2)`.
    pub fn make(&self) -> io::Result<Socket> {
        let socket = stream_socket(self.addr)?;
        self.buffers.apply(&socket)?;
        Ok(socket)
    }

    /// Starts a non-blocking connect: the socket is writable when it is decided.
    ///
    /// # Errors
    /// As `socket(2)`, `setsockopt(2)`, `bind(2)` and `connect(2)`, but for EINPROGRESS.
    pub fn start(&self) -> io::Result<Socket> {
        let socket = self.make()?;
        // On every dial, not only on one from a given port: the kernel lets a port be bound again
        // while its last connection fades only if that connection's socket had this option too.
        socket.set_reuse_address(true)?;
        if let Some(from) = self.from {
            socket.bind(&from.into())?;
        }
        match socket.connect(&self.addr.into()) {
            Err(e) if e.raw_os_error() == Some(Errno::INPROGRESS.raw_os_error()) => {}
            other => other?,
        }
        Ok(socket)
    }
}

/// Whether `error` says that this host has no descriptor or memory left for a socket: it comes back
/// at once, for every socket, until something is closed (accept(2), socket(2)).
pub fn is_shortage(error: &io::Error) -> bool {
    [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM]
        .into_iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

fn stream_socket(addr: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

sockopt_impl!(
    /// `SO_RCVLOWAT`, which nix knows how to make but does not list.
    ReceiveLowWater,
    Both,
    libc::SOL_SOCKET,
    libc::SO_RCVLOWAT,
    i32
);

/// Sets the low-water mark: how many bytes must be there before a socket is readable, socket(7).
///
/// Besides saving wake-ups it changes who acknowledges: below the mark the kernel acknowledges at
/// once, on the CPU of the sender, and not when the reader comes round to reading
/// (`__tcp_ack_snd_check`, since Linux 4.18). A sender on loopback then no longer depends on how
/// promptly its reader is scheduled.
///
/// The kernel caps it at half of `net.ipv4.tcp_rmem`'s maximum and grows the receive
/// buffer to hold it (`tcp_set_rcvlowat`).
///
/// # Errors
/// As `setsockopt(2)`.
pub fn set_low_water(socket: impl AsFd, mark: Bytes) -> io::Result<()> {
    let mark = i32::try_from(mark.0).unwrap_or(i32::MAX);
    Ok(setsockopt(&socket, ReceiveLowWater, &mark)?)
}

/// The low-water mark as the kernel keeps it; 1 on a new socket.
///
/// # Errors
/// As `getsockopt(2)`.
pub fn low_water(socket: impl AsFd) -> io::Result<Bytes> {
    let mark = getsockopt(&socket, ReceiveLowWater)?;
    Ok(Bytes(u64::try_from(mark).unwrap_or(0)))
}
