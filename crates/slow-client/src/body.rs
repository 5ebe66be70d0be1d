//! A body: whether it is what was asked for, and where its bytes go. They are discarded in the kernel where nobody has
//! to look at them, or copied and then discarded.

use std::ffi::c_int;
use std::io::{self, ErrorKind, Read};

use http1::{Body, BodyFraming};
use records::{Bytes, DownloadEnd, Sink};
use rustix::net::RecvFlags;
use socket2::Socket;

/// How long a body should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// This many bytes: the ones asked for.
    Exactly(Bytes),
    /// As many as there are: it is coded, or the user's own server knows.
    Any,
}

impl Asked {
    /// How a body of `bytes` that has come to its own end ends the download.
    pub(crate) fn end_of(self, bytes: u64) -> DownloadEnd {
        match self {
            Self::Exactly(Bytes(asked)) if bytes != asked => DownloadEnd::BadStatus,
            _ => DownloadEnd::Completed,
        }
    }

    /// How the download ends when the peer closes inside `body`.
    pub(crate) fn end_at_close(self, body: &Body) -> DownloadEnd {
        match self {
            _ if !body.ends_at_close() => DownloadEnd::ClosedEarly,
            Self::Exactly(Bytes(size)) if body.payload() < size => DownloadEnd::ClosedEarly,
            asked => asked.end_of(body.payload()),
        }
    }

    /// A body after the bytes that came with its head.
    ///
    /// # Errors
    /// How the download ends: the chunks are broken, or it is said to be of another length.
    pub(crate) fn begin(self, framing: BodyFraming, early: &[u8]) -> Result<Body, DownloadEnd> {
        // What is not what was asked for is no load, however fast it comes.
        if let BodyFraming::Length(length) = framing
            && self.end_of(length) != DownloadEnd::Completed
        {
            return Err(DownloadEnd::BadStatus);
        }
        let mut body = Body::new(framing);
        body.advance(early).map_err(|_| DownloadEnd::BadStatus)?;
        Ok(body)
    }
}

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

    /// Takes up to `limit` bytes, which is not 0, of a body that is not done. Chunks must be looked at, so
    /// they are copied whatever the sink.
    ///
    /// # Errors
    /// How the download ends: the chunks are broken.
    pub(crate) fn take(
        &mut self,
        body: &mut Body,
        socket: &Socket,
        limit: u64,
    ) -> Result<Taken, DownloadEnd> {
        if body.left().is_none() && !body.ends_at_close() {
            let (taken, seen) = self.read(socket, limit);
            body.advance(seen).map_err(|_| DownloadEnd::BadStatus)?;
            return Ok(taken);
        }
        let taken = self.discard(socket, body.left().map_or(limit, |left| left.min(limit)));
        body.skip(taken.len() as u64);
        Ok(taken)
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
