//! Where the bytes of answers go: they are discarded in the kernel where nobody has to look at them.

use std::ffi::c_int;
use std::io::{self, ErrorKind, Read};

use http1::{Answer, Body, State};
use records::Bytes;
use rustix::net::RecvFlags;
use socket2::Socket;

/// How many bytes of `body` to wait for at a time, `most` or fewer: never more than are to come. Chunks
/// do not tell how many that is.
pub(crate) fn mark(body: &Body, most: Bytes) -> Bytes {
    match body.left() {
        Some(left) => Bytes(left).min(most),
        None if body.ends_at_close() => most,
        None => Bytes(1),
    }
}

/// What one call takes at most. The kernel holds the socket's lock meanwhile and the sender's
/// segments wait behind it; calls of up to 8 MiB were not cheaper per byte.
const CHUNK: usize = 256 << 10;

/// tcp(7): the bytes "are discarded, rather than passed back in a caller-supplied buffer".
const MSG_TRUNC: c_int = RecvFlags::TRUNC.bits().cast_signed();

/// One buffer for every download of the process.
pub(crate) struct Drain {
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
    pub(crate) fn new() -> Self {
        Self { unwritten: Vec::with_capacity(CHUNK), buffer: vec![0; CHUNK].into() }
    }

    /// Takes up to `limit` bytes, which is not 0, of an answer that is not whole; and how far it is then.
    /// Heads and chunks must be looked at, so they are copied.
    pub(crate) fn take(
        &mut self,
        answer: &mut Answer,
        socket: &Socket,
        limit: u64,
    ) -> (Taken, State) {
        match answer.body() {
            Some(body) if body.left().is_some() || body.ends_at_close() => {
                let taken = self.discard(socket, body.left().map_or(limit, |left| left.min(limit)));
                (taken, answer.skip(taken.len() as u64))
            }
            _ => {
                let (taken, seen) = self.read(socket, limit);
                (taken, answer.advance(seen))
            }
        }
    }

    /// Takes up to `limit` bytes, which is not 0, that nobody wants to see.
    pub(crate) fn discard(&mut self, socket: &Socket, limit: u64) -> Taken {
        let room = room(limit);
        let unwritten = &mut self.unwritten.spare_capacity_mut()[..room];
        Taken::from_recv(socket.recv_with_flags(unwritten, MSG_TRUNC), room)
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
