//! A connection that gives way: what one turn may write is bounded.
//!
//! hyper writes until the socket takes no more. Against a reader that keeps pace that is a turn of
//! tokio's whole budget, 128 full writes: tens of milliseconds, during which no fetch is answered.
//! So this connection counts what it wrote and lets the others run.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

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
