//! Where the bytes go: discarded in the kernel, or copied and then discarded.

use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;

use records::Sink;
use rustix::net::RecvFlags;
use socket2::Socket;

/// What one read discards at most. The kernel holds the socket's lock meanwhile, and the sender's
/// segments wait behind it; so this also bounds how long one download keeps the others waiting.
const DISCARD: usize = 8 << 20;

/// What one copying read takes at most: as much as fits a level 2 cache, beside the bytes it reads.
const COPY: usize = 256 << 10;

/// One buffer for every download of the process.
pub(crate) struct Drain {
    sink: Sink,
    /// Length for the kernel to count against; with MSG_TRUNC it writes nothing into it, so its
    /// pages are never there.
    unwritten: Vec<u8>,
    buffer: Box<[u8]>,
}

/// What a read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Nothing is there now.
    Nothing,
    /// This many bytes; there may be more.
    Bytes(usize),
    /// The peer closed its side.
    Closed,
    /// The connection is broken.
    Broken,
}

impl Drain {
    pub(crate) fn new(sink: Sink) -> Self {
        Self {
            sink,
            unwritten: Vec::with_capacity(DISCARD),
            buffer: vec![0; COPY].into_boxed_slice(),
        }
    }

    /// Takes up to `limit` bytes that nobody wants to see.
    pub(crate) fn discard(&mut self, socket: &Socket, limit: u64) -> Taken {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        match self.sink {
            Sink::Trunc => {
                let room = self.unwritten.spare_capacity_mut();
                let room = &mut room[..limit.min(DISCARD)];
                Taken::from_recv(socket.recv_with_flags(room, trunc()))
            }
            Sink::Copy => self.read(socket, limit).0,
        }
    }

    /// Takes up to `limit` bytes and shows them.
    pub(crate) fn read(&mut self, socket: &Socket, limit: usize) -> (Taken, &[u8]) {
        let room = self.buffer.len().min(limit);
        let taken = Taken::from_recv(io::Read::read(&mut &*socket, &mut self.buffer[..room]));
        let len = if let Taken::Bytes(len) = taken { len } else { 0 };
        (taken, &self.buffer[..len])
    }
}

impl Taken {
    fn from_recv(result: io::Result<usize>) -> Self {
        match result {
            Ok(0) => Self::Closed,
            Ok(len) => Self::Bytes(len),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Self::Nothing
            }
            Err(_) => Self::Broken,
        }
    }
}
