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

/// A stream and its readiness, remembered from events and taken back by EAGAIN, and by a write that
/// took less than it was given.
#[derive(Debug)]
pub(crate) struct Connection<S> {
    stream: S,
    ready: Event,
}

/// What reading or writing came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IoResult {
    /// This many bytes, never zero.
    Bytes(usize),
    /// EAGAIN, or known to be so without a call.
    Blocked,
    /// Reading: FIN. Writing: the socket takes nothing.
    End,
    /// Reset, broken pipe, or any other error of the connection.
    Broken,
}

impl<S: Stream> Connection<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, ready: Event::default() }
    }

    pub(crate) fn stream(&self) -> &S {
        &self.stream
    }

    pub(crate) fn ready(&self) -> Event {
        self.ready
    }

    /// Remembers what an event said.
    pub(crate) fn on_event(&mut self, event: Event) {
        self.ready.readable |= event.readable | event.hung_up;
        self.ready.writable |= event.writable | event.hung_up;
        self.ready.hung_up |= event.hung_up;
    }

    /// Takes the socket for empty until the next event says otherwise.
    pub(crate) fn clear_readable(&mut self) {
        self.ready.readable = false;
    }

    /// Takes the socket for full until the next event says otherwise.
    pub(crate) fn clear_writable(&mut self) {
        self.ready.writable = false;
    }

    /// Reads once.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> IoResult {
        self.receive(|stream| stream.read(into))
    }

    /// Reads once, into all of `room` (`readv(2)`).
    pub(crate) fn read_vectored(&mut self, room: &mut [IoSliceMut<'_>]) -> IoResult {
        self.receive(|stream| stream.read_vectored(room))
    }

    /// Reads once, at most `room` bytes, and puts them behind what is in `head`.
    pub(crate) fn read_onto(&mut self, head: &mut Vec<u8>, room: usize) -> IoResult {
        let had = head.len();
        head.resize(had + room, 0);
        let result = self.read(head.get_mut(had..).unwrap_or_default());
        head.truncate(had + if let IoResult::Bytes(got) = result { got } else { 0 });
        result
    }

    /// Writes once. A short write has filled the socket: its next event is awaited, not EAGAIN
    /// (`ngx_unix_send`, `ngx_writev_chain`).
    pub(crate) fn write(&mut self, from: &[u8]) -> IoResult {
        self.send(from.len(), |stream| stream.write(from))
    }

    /// As [`Self::write`], from all of `line` (`writev(2)`).
    pub(crate) fn write_vectored(&mut self, line: &[IoSlice<'_>]) -> IoResult {
        let all = line.iter().map(|slice| slice.len()).sum();
        self.send(all, |stream| stream.write_vectored(line))
    }

    fn receive(&mut self, mut call: impl FnMut(&mut S) -> io::Result<usize>) -> IoResult {
        if !self.ready.readable {
            return IoResult::Blocked;
        }
        let result = retried(|| call(&mut self.stream));
        self.ready.readable = result != IoResult::Blocked;
        result
    }

    fn send(
        &mut self,
        offered: usize,
        mut call: impl FnMut(&mut S) -> io::Result<usize>,
    ) -> IoResult {
        if !self.ready.writable {
            return IoResult::Blocked;
        }
        let result = retried(|| call(&mut self.stream));
        self.ready.writable = match result {
            IoResult::Bytes(sent) => sent >= offered,
            IoResult::Blocked => false,
            IoResult::End | IoResult::Broken => true,
        };
        result
    }
}

/// What a call came to that no signal cut short.
fn retried(mut call: impl FnMut() -> io::Result<usize>) -> IoResult {
    loop {
        return match call() {
            Ok(0) => IoResult::End,
            Ok(bytes) => IoResult::Bytes(bytes),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => IoResult::Blocked,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => IoResult::Broken,
        };
    }
}
