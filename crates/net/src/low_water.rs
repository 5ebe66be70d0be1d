//! SO_RCVLOWAT: how many bytes must be there before a socket is readable, socket(7).
//!
//! Besides saving wake-ups it changes who acknowledges: below the mark the kernel acknowledges at
//! once, on the CPU of the sender, and not when the reader comes round to reading
//! (`__tcp_ack_snd_check`, since Linux 4.18). A sender on loopback then no longer depends on how
//! promptly its reader is scheduled.

use std::io;
use std::os::fd::AsFd;

use nix::libc;
use nix::sys::socket::{getsockopt, setsockopt};
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};
use records::Bytes;

sockopt_impl!(
    /// `SO_RCVLOWAT`, which nix knows how to make but does not list.
    ReceiveLowWater,
    Both,
    libc::SOL_SOCKET,
    libc::SO_RCVLOWAT,
    i32
);

/// Sets the mark. The kernel caps it at half of `net.ipv4.tcp_rmem`'s maximum and grows the receive
/// buffer to hold it (`tcp_set_rcvlowat`).
///
/// # Errors
/// As `setsockopt(2)`.
pub fn set(socket: impl AsFd, mark: Bytes) -> io::Result<()> {
    let mark = i32::try_from(mark.0).unwrap_or(i32::MAX);
    Ok(setsockopt(&socket, ReceiveLowWater, &mark)?)
}

/// The mark as the kernel keeps it; 1 on a new socket.
///
/// # Errors
/// As `getsockopt(2)`.
pub fn read_back(socket: impl AsFd) -> io::Result<Bytes> {
    let mark = getsockopt(&socket, ReceiveLowWater)?;
    Ok(Bytes(u64::try_from(mark).unwrap_or(0)))
}
