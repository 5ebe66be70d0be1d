//! Where the bytes go: discarded in the kernel, or copied and then discarded.

use std::ffi::c_int;
use std::io::{self, ErrorKind, Read};

use records::Sink;
use rustix::net::RecvFlags;
use socket2::Socket;

/// What one call takes at most. The kernel holds the socket's lock meanwhile and the sender's
/// segments wait behind it; calls of up to 8 MiB were not cheaper per byte.
const CHUNK: usize = 256 << 10;

/// tcp(7): the bytes "are discarded, rather than passed back in a caller-supplied buffer".
const MSG_TRUNC: c_int = RecvFlags::TRUNC.bits().cast_signed();

/// One buffer for every download of the process.
pub(crate) struct Drain {
    sink: Sink,
    /// A length for the kernel to count against. With MSG_TRUNC nothing is written into it, so its
    /// pages never come into being.
    unwritten: Vec<u8>,
    buffer: Box<[u8]>,
}

/// What a read brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Nothing is there now.
    Nothing,
    /// This many bytes, and that was all for the moment.
    Short(usize),
    /// As many bytes as were asked for; there may be more.
    Full(usize),
    /// The peer closed its side.
    Closed,
    /// The connection is broken.
    Broken,
}

impl Drain {
    pub(crate) fn new(sink: Sink) -> Self {
        let buffer = vec![0; CHUNK].into_boxed_slice();
        Self { sink, unwritten: Vec::with_capacity(CHUNK), buffer }
    }

    /// Takes up to `limit` bytes, which is not 0, that nobody wants to see.
    pub(crate) fn discard(&mut self, socket: &Socket, limit: u64) -> Taken {
        match self.sink {
            Sink::Trunc => {
                let room = room(limit);
                let unwritten = &mut self.unwritten.spare_capacity_mut()[..room];
                Taken::from_recv(socket.recv_with_flags(unwritten, MSG_TRUNC), room)
            }
            Sink::Copy => self.read(socket, limit).0,
        }
    }

    /// Takes up to `limit` bytes, which is not 0, and shows them.
    pub(crate) fn read(&mut self, mut socket: &Socket, limit: u64) -> (Taken, &[u8]) {
        let room = room(limit);
        let taken = Taken::from_recv(socket.read(&mut self.buffer[..room]), room);
        (taken, &self.buffer[..taken.len()])
    }
}

impl Taken {
    /// Bytes it brought.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Short(len) | Self::Full(len) => len,
            Self::Nothing | Self::Closed | Self::Broken => 0,
        }
    }

    fn from_recv(result: io::Result<usize>, room: usize) -> Self {
        match result {
            Ok(0) => Self::Closed,
            Ok(len) if len < room => Self::Short(len),
            Ok(_) => Self::Full(room),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Self::Nothing,
            Err(_) => Self::Broken,
        }
    }
}

fn room(limit: u64) -> usize {
    usize::try_from(limit).map_or(CHUNK, |limit| limit.min(CHUNK))
}
