//! Bodies, and the connections that they leave by. The byte at offset `i` is `i mod 251`, whatever the size:
//! 251 is prime, so a reader that loses, repeats or swaps blocks of any usual size notices.
//!
//! A connection gives way: what one turn may write is bounded. hyper writes until the socket takes no more.
//! Against a reader that keeps pace that is a turn of tokio's whole budget, 128 full writes: tens of
//! milliseconds, during which no fetch is answered. So a connection counts what it wrote and lets the
//! others run.

use std::convert::Infallible;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use hyper::body::{Frame, SizeHint};
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

/// The largest part handed to hyper at once: any, as long as a `usize` holds it everywhere.
const PART: u64 = 1 << 30;

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

/// A run of the pattern as a buffer, on its way to the kernel: it has a length, and no storage of its
/// own. The last one of a body keeps its worker busy; hyper drops what it has written to the last byte.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// The next byte, as an offset within the period.
    phase: usize,
    left: usize,
    /// Held for its drop alone: the worker takes the next request then.
    _worker: Option<OwnedSemaphorePermit>,
}

impl Pattern {
    /// The `length` bytes of a body that begin at `offset`, and the worker that is free after them.
    fn new(offset: u64, length: usize, worker: Option<OwnedSemaphorePermit>) -> Self {
        // Less than PERIOD, so it fits.
        let phase = usize::try_from(offset % PERIOD as u64).unwrap_or(0);
        Self { phase, left: length, _worker: worker }
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

/// The body of one answer.
#[derive(Debug)]
pub(crate) struct Body {
    sent: u64,
    size: u64,
    /// Its worker; absent where workers are not counted.
    worker: Option<OwnedSemaphorePermit>,
}

impl Body {
    /// The first `size` bytes of the pattern.
    pub(crate) fn new(size: u64) -> Self {
        Self { sent: 0, size, worker: None }
    }

    /// The same, with a worker that is busy until the kernel has taken the last byte, or until the
    /// connection has ended.
    pub(crate) fn worked_on_by(self, worker: Option<OwnedSemaphorePermit>) -> Self {
        Self { worker, ..self }
    }
}

impl hyper::body::Body for Body {
    type Data = Pattern;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Pattern>, Infallible>>> {
        let part = (self.size - self.sent).min(PART);
        if part == 0 {
            return Poll::Ready(None);
        }
        let offset = self.sent;
        self.sent += part;
        let worker = if self.is_end_stream() { self.worker.take() } else { None };
        let length = usize::try_from(part).unwrap_or(usize::MAX);
        Poll::Ready(Some(Ok(Frame::data(Pattern::new(offset, length, worker)))))
    }

    fn is_end_stream(&self) -> bool {
        self.sent == self.size
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.size - self.sent)
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
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
