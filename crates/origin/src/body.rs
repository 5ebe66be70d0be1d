//! Bodies, and the connections that they leave by. The byte at offset `i` is `i mod 251`, whatever the size:
//! 251 is prime, so a reader that loses, repeats or swaps blocks of any usual size notices.
//!
//! A connection gives way: what one turn may write is bounded. hyper writes until the socket takes no more.
//! Against a reader that keeps pace that is a turn of tokio's whole budget, 128 full writes: tens of
//! milliseconds, during which no fetch is answered. So a connection counts what it wrote and lets the
//! others run.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Buf;
use records::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;

/// After so many bytes the pattern begins again.
const PERIOD: usize = 251;

/// Bytes behind one `iovec`: the source stays in the first-level cache and costs no bandwidth.
/// Between 32 and 64 KiB the cost per byte is flat; below, system calls show, above, the copies miss.
const SLICE: usize = 32 * 1024;

/// Slices of one `writev(2)` at most, 512 KiB in all.
///
/// The kernel holds the socket's lock for as long as one call copies. Meanwhile the reader's
/// acknowledgements wait, nothing is sent for them, and a reader that empties 0.5 MB in half a
/// millisecond meets EAGAIN. So calls stay well under that: with 2 MiB a call nearly every long
/// step of a draining proxy ended inside one of our calls.
const SLICES: usize = 16;

/// A slice from every phase of the pattern.
static STORE: [u8; SLICE + PERIOD] = store();

const fn store() -> [u8; SLICE + PERIOD] {
    let mut store = [0; SLICE + PERIOD];
    let mut at = 0;
    let mut value = 0;
    while at < store.len() {
        store[at] = value;
        value = if value as usize == PERIOD - 1 { 0 } else { value + 1 };
        at += 1;
    }
    store
}

/// A body as a buffer, on its way to the kernel: it has a length, and no storage of its own.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// The next byte, as an offset within the period.
    phase: usize,
    left: usize,
    /// Its worker, which is busy until the kernel has taken the last byte, or until the connection has ended:
    /// hyper drops what it has written. Absent where workers are not counted.
    _worker: Option<OwnedSemaphorePermit>,
}

impl Pattern {
    /// The first `size` bytes of the pattern, and the worker that is free after them.
    pub(crate) fn new(size: Bytes, worker: Option<OwnedSemaphorePermit>) -> Self {
        Self { phase: 0, left: size.as_usize(), _worker: worker }
    }

    fn slice(phase: usize, left: usize) -> &'static [u8] {
        &STORE[phase..phase + left.min(SLICE)]
    }
}

impl Buf for Pattern {
    fn remaining(&self) -> usize {
        self.left
    }

    fn chunk(&self) -> &[u8] {
        Self::slice(self.phase, self.left)
    }

    fn advance(&mut self, count: usize) {
        assert!(count <= self.left, "advanced past the end of the pattern");
        self.phase = (self.phase + count) % PERIOD;
        self.left -= count;
    }

    fn chunks_vectored<'a>(&'a self, out: &mut [IoSlice<'a>]) -> usize {
        let (mut phase, mut left) = (self.phase, self.left);
        let mut used = 0;
        for entry in out.iter_mut().take(SLICES) {
            if left == 0 {
                break;
            }
            let slice = Self::slice(phase, left);
            *entry = IoSlice::new(slice);
            phase = (phase + slice.len()) % PERIOD;
            left -= slice.len();
            used += 1;
        }
        used
    }
}

/// Bytes after which a connection gives way: 0.2 to 0.5 ms of work.
pub(crate) const TURN: usize = 2 * 1024 * 1024;

/// A stream whose writer gives way after [`TURN`] bytes.
///
/// A turn ends when the stream says that it is not ready, for lack of room or for courtesy.
#[derive(Debug)]
pub(crate) struct Turns<S> {
    stream: S,
    written: usize,
}

impl<S> Turns<S> {
    pub(crate) const fn new(stream: S) -> Self {
        Self { stream, written: 0 }
    }

    /// Runs `write` if the turn is not over yet.
    fn write(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>>
    where
        S: Unpin,
    {
        if self.written >= TURN {
            self.written = 0;
            // Behind all others that are ready.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let wrote = write(Pin::new(&mut self.stream), cx);
        match &wrote {
            Poll::Ready(Ok(count)) => self.written += count,
            Poll::Ready(Err(_)) | Poll::Pending => self.written = 0,
        }
        wrote
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Turns<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Turns<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(cx, |stream, cx| stream.poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(cx, |stream, cx| stream.poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
