//! What a worker lends to a session for one step: its sockets, its clocks, its limits.

use std::io;
use std::net::{Shutdown, TcpStream as StdTcpStream};
use std::sync::atomic::Ordering;

use mio::net::TcpStream;
use mio::{Interest, Registry};
use net::tcp::Dial;
use records::MonoNs;
use rustix::io::ioctl_fionread;

use super::WorkerSetup;
use super::sessions::SessionKey;
use crate::session::{Env, Limits, Peer, Stream, TempFile, temp_file};
use crate::upstream_buffers;

/// The worker as one session sees it.
pub(crate) struct WorkerEnv<'a> {
    pub(super) setup: &'a WorkerSetup,
    pub(super) registry: &'a Registry,
    pub(super) clock: CachedClock,
    pub(super) key: SessionKey,
}

impl Env for WorkerEnv<'_> {
    type Stream = TcpStream;

    fn dial(&mut self) -> io::Result<TcpStream> {
        // The receive buffer is set before the connect: the window scale is agreed in the SYN.
        let Limits { upstream: addr, toggles, .. } = &*self.setup.limits;
        let dial = Dial { addr: *addr, from: None, buffers: upstream_buffers(toggles) };
        let mut stream = TcpStream::from_std(StdTcpStream::from(dial.start()?));
        let token = self.key.token(Peer::Upstream);
        self.registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
        Ok(stream)
    }

    fn temp_file(&self) -> io::Result<Box<dyn TempFile>> {
        Ok(Box::new(temp_file(&self.setup.limits.toggles.spool)?))
    }

    fn now(&self) -> MonoNs {
        net::clock::now()
    }

    fn cached_ms(&self) -> u64 {
        self.clock.ms()
    }

    fn told_to_end(&self) -> bool {
        self.setup.stop.load(Ordering::Relaxed)
    }

    fn limits(&self) -> &Limits {
        &self.setup.limits
    }
}

impl Stream for TcpStream {
    /// The steps that mio documents for `TcpStream::connect`: SO_ERROR, then whether there is a
    /// peer.
    fn connected(&self) -> io::Result<()> {
        if let Some(error) = self.take_error()? {
            return Err(error);
        }
        match self.peer_addr() {
            Err(e) if e.kind() == io::ErrorKind::NotConnected => {
                Err(io::ErrorKind::WouldBlock.into())
            }
            peer => peer.map(drop),
        }
    }

    fn unread(&self) -> io::Result<u64> {
        Ok(ioctl_fionread(self)?)
    }

    fn finish(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }

    fn local_port(&self) -> Option<u16> {
        self.local_addr().ok().map(|addr| addr.port())
    }
}

/// The clock that stands still within a loop turn, as nginx's does: both times as of
/// [`Self::new`], once a loop turn.
///
/// nginx refreshes it right after `epoll_wait` (`ngx_time_update`) and logs from it, so a step of
/// seconds leaves no trace in `$request_time`. The records use [`net::clock`] instead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CachedClock {
    pub(crate) mono: MonoNs,
    pub(crate) unix_ms: u64,
}

impl CachedClock {
    pub(crate) fn new() -> Self {
        Self { unix_ms: net::clock::unix_ms(), mono: net::clock::now() }
    }

    /// Whole milliseconds since boot: differences of these are what nginx logs.
    pub(crate) fn ms(&self) -> u64 {
        self.mono.0 / 1_000_000
    }
}
