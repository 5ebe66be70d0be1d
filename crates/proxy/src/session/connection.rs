//! One of the two connections of a session, with what is known of its readiness; and the memory between
//! the two.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::ops::ControlFlow::{self, Break, Continue};
use std::ops::Range;

use http1::Body;
use records::SessionEnd;

use crate::policy::Stop;

/// A non-blocking byte stream: a TCP socket here, a simulated one in tests.
pub(crate) trait Stream: Read + Write {
    /// Whether a connect that was under way has succeeded; EAGAIN: it has not been decided.
    fn connected(&self) -> io::Result<()>;
    /// Bytes received and not yet read (FIONREAD).
    fn unread(&self) -> io::Result<u64>;
    /// Says that nothing more will be sent (FIN).
    fn finish(&self) -> io::Result<()>;
    /// Our port.
    fn local_port(&self) -> Option<u16>;
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
    /// Absent: there is none, or no longer.
    stream: Option<S>,
    pub(crate) ready: Event,
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

impl IoResult {
    /// How a session ends whose upstream has closed or broken off within `body`.
    pub(super) fn end_of(self, body: &Body) -> SessionEnd {
        if self == Self::End && body.ends_at_close() {
            SessionEnd::Completed
        } else {
            SessionEnd::UpstreamClosedEarly
        }
    }
}

impl<S: Stream> Connection<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream: Some(stream), ..Self::closed() }
    }

    /// One that there is not yet.
    pub(crate) fn closed() -> Self {
        Self { stream: None, ready: Event::default() }
    }

    pub(crate) fn close(&mut self) {
        self.stream = None;
    }

    /// What is there to be asked.
    pub(crate) fn stream(&self) -> io::Result<&S> {
        self.stream.as_ref().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// As [`Stream::unread`].
    pub(crate) fn unread(&self) -> io::Result<u64> {
        self.stream()?.unread()
    }

    /// Remembers what an event said.
    pub(crate) fn on_event(&mut self, event: Event) {
        self.ready.readable |= event.readable | event.hung_up;
        self.ready.writable |= event.writable | event.hung_up;
        self.ready.hung_up |= event.hung_up;
    }

    /// What the policy's word on a read comes to.
    pub(crate) fn obey(&mut self, said: ControlFlow<Stop>) -> ControlFlow<Stop> {
        match said {
            // After the peer's FIN no further event will come: read on to the end
            // (`if (!rev->pending_eof)` in ngx_unix_recv).
            Break(Stop::Blocked(_)) if self.ready.hung_up => Continue(()),
            // The socket is taken for empty until the next event says otherwise.
            Break(Stop::Blocked(by)) => {
                self.ready.readable = false;
                Break(Stop::Blocked(by))
            }
            other => other,
        }
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

    fn receive(&mut self, call: impl FnMut(&mut S) -> io::Result<usize>) -> IoResult {
        attempt(&mut self.stream, &mut self.ready.readable, call)
    }

    fn send(&mut self, offered: usize, call: impl FnMut(&mut S) -> io::Result<usize>) -> IoResult {
        let result = attempt(&mut self.stream, &mut self.ready.writable, call);
        self.ready.writable &= !matches!(result, IoResult::Bytes(sent) if sent < offered);
        result
    }
}

/// What a call that no signal cuts short comes to on a stream, if that is `ready` for it.
fn attempt<S>(
    stream: &mut Option<S>,
    ready: &mut bool,
    mut call: impl FnMut(&mut S) -> io::Result<usize>,
) -> IoResult {
    let Some(stream) = stream else { return IoResult::Broken };
    while *ready {
        match call(stream) {
            Ok(0) => return IoResult::End,
            Ok(bytes) => return IoResult::Bytes(bytes),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => *ready = false,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return IoResult::Broken,
        }
    }
    IoResult::Blocked
}

/// A piece of memory that is filled, then emptied, then filled again: what waits to be written. Its memory
/// is made once and reused.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    data: Vec<u8>,
    held: Range<usize>,
}

impl Buffer {
    /// A buffer that holds `data`.
    pub(super) fn holding(data: Vec<u8>) -> Self {
        Self { held: 0..data.len(), data }
    }

    /// What waits in it.
    pub(super) fn held(&self) -> &[u8] {
        self.data.get(self.held.clone()).unwrap_or_default()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// What waits is dropped; all of its room, `size` bytes, can be filled.
    pub(super) fn refill(&mut self, size: usize) -> &mut [u8] {
        self.held = 0..0;
        if self.data.len() != size {
            self.data = vec![0; size];
        }
        &mut self.data
    }

    /// What can still be filled.
    pub(super) fn room(&mut self) -> &mut [u8] {
        self.data.get_mut(self.held.end..).unwrap_or_default()
    }

    /// The next `bytes` of the room are filled.
    pub(super) fn filled(&mut self, bytes: usize) {
        self.held.end = (self.held.end + bytes).min(self.data.len());
    }

    /// The first `bytes` of what waits are gone.
    pub(super) fn gone(&mut self, bytes: usize) {
        self.held.start = (self.held.start + bytes).min(self.held.end);
    }
}
