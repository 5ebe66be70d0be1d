//! A stream that remembers when the first byte of the answer came.
//!
//! hyper tells of a head when it is complete. A cap that is hit before may still be inside the
//! answer, and that is another outcome than a silent peer.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use net::clock;
use records::MonoNs;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Set once, by the read that brings the first byte: it costs a fetch one look at the clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstByte(Arc<OnceLock<MonoNs>>);

impl FirstByte {
    /// When it was read; absent: it has not come.
    pub(crate) fn at(&self) -> Option<MonoNs> {
        self.0.get().copied()
    }
}

/// The stream and what it remembers.
#[derive(Debug)]
pub(crate) struct Watched {
    stream: TcpStream,
    first_byte: FirstByte,
}

impl Watched {
    pub(crate) const fn new(stream: TcpStream, first_byte: FirstByte) -> Self {
        Self { stream, first_byte }
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.first_byte.0.get_or_init(clock::now);
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
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
