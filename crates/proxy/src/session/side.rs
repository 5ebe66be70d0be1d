//! One of the two connections of a session, with what is known of its readiness.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};

/// A non-blocking byte stream: a TCP socket here, a simulated one in tests.
pub(crate) trait Stream: Read + Write {
    /// Whether a connect that was under way has been decided.
    fn connect_state(&self) -> io::Result<ConnectState>;
    /// Bytes received and not yet read (FIONREAD).
    fn unread(&self) -> io::Result<u64>;
    /// Says that nothing more will be sent (FIN).
    fn finish(&self) -> io::Result<()>;
    /// Our port.
    fn local_port(&self) -> Option<u16>;
}

/// How far a connect is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectState {
    /// The handshake is still under way.
    Pending,
    /// It stands.
    Done,
}

/// What an event said of a socket. Edge-triggered: nobody says it twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// The peer sent FIN or RST (EPOLLRDHUP, EPOLLHUP, EPOLLERR): nginx's `pending_eof`.
    pub(crate) hung_up: bool,
}

/// A connection and its readiness, remembered from events and taken back by EAGAIN, and by a write
/// that took less than it was given.
#[derive(Debug)]
pub(crate) struct Side<S> {
    stream: S,
    ready: Event,
}

/// What reading or writing came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    /// This many bytes, never zero.
    Bytes(usize),
    /// EAGAIN, or known to be so without a call.
    Blocked,
    /// Reading: FIN. Writing: the socket takes nothing.
    End,
    /// Reset, broken pipe, or any other error of the connection.
    Broken,
}

impl<S: Stream> Side<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, ready: Event::default() }
    }

    pub(crate) fn stream(&self) -> &S {
        &self.stream
    }

    pub(crate) fn ready(&self) -> Event {
        self.ready
    }

    /// Takes in an event.
    pub(crate) fn on_event(&mut self, event: Event) {
        self.ready.readable |= event.readable | event.hung_up;
        self.ready.writable |= event.writable | event.hung_up;
        self.ready.hung_up |= event.hung_up;
    }

    /// Takes the socket for empty until the next event says otherwise.
    pub(crate) fn take_for_empty(&mut self) {
        self.ready.readable = false;
    }

    /// Takes the socket for full until the next event says otherwise.
    pub(crate) fn take_for_full(&mut self) {
        self.ready.writable = false;
    }

    /// Reads once.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> Moved {
        if !self.ready.readable {
            return Moved::Blocked;
        }
        let moved = moved(|| self.stream.read(into));
        if moved == Moved::Blocked {
            self.ready.readable = false;
        }
        moved
    }

    /// Reads once, into all of `room` (`readv(2)`).
    pub(crate) fn read_vectored(&mut self, room: &mut [IoSliceMut<'_>]) -> Moved {
        if !self.ready.readable {
            return Moved::Blocked;
        }
        let moved = moved(|| self.stream.read_vectored(room));
        if moved == Moved::Blocked {
            self.ready.readable = false;
        }
        moved
    }

    /// Writes once, from all of `line` (`writev(2)`); else as [`Self::write`].
    pub(crate) fn write_vectored(&mut self, line: &[IoSlice<'_>]) -> Moved {
        if !self.ready.writable {
            return Moved::Blocked;
        }
        let all: usize = line.iter().map(|slice| slice.len()).sum();
        let moved = moved(|| self.stream.write_vectored(line));
        let short = matches!(moved, Moved::Bytes(wrote) if wrote < all);
        if short || moved == Moved::Blocked {
            self.ready.writable = false;
        }
        moved
    }

    /// Writes once. A short write has filled the socket: its next event is awaited, not EAGAIN
    /// (`ngx_unix_send`, `ngx_writev_chain`).
    pub(crate) fn write(&mut self, from: &[u8]) -> Moved {
        if !self.ready.writable {
            return Moved::Blocked;
        }
        let moved = moved(|| self.stream.write(from));
        match moved {
            Moved::Bytes(sent) => self.ready.writable = sent >= from.len(),
            Moved::Blocked => self.ready.writable = false,
            Moved::End | Moved::Broken => {}
        }
        moved
    }
}

fn moved(mut call: impl FnMut() -> io::Result<usize>) -> Moved {
    loop {
        return match call() {
            Ok(0) => Moved::End,
            Ok(bytes) => Moved::Bytes(bytes),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Moved::Blocked,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => Moved::Broken,
        };
    }
}
