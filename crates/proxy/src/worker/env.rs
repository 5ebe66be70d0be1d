//! What a worker lends to a session for one step.

use std::io;
use std::net::TcpStream as StdTcpStream;
use std::sync::atomic::Ordering;

use mio::net::TcpStream;
use mio::{Interest, Registry};
use net::tcp::Dial;
use records::MonoNs;

use super::WorkerSetup;
use super::clock::CachedClock;
use super::token::SessionKey;
use crate::session::{Env, Limits, Peer, TempFile};

/// The worker as one session sees it.
pub(crate) struct WorkerEnv<'a> {
    setup: &'a WorkerSetup,
    registry: &'a Registry,
    clock: CachedClock,
    key: SessionKey,
}

impl<'a> WorkerEnv<'a> {
    pub(crate) fn new(
        setup: &'a WorkerSetup,
        registry: &'a Registry,
        clock: CachedClock,
        key: SessionKey,
    ) -> Self {
        Self { setup, registry, clock, key }
    }
}

impl Env for WorkerEnv<'_> {
    type Stream = TcpStream;

    fn dial(&mut self) -> io::Result<TcpStream> {
        // The receive buffer is set before the connect: the window scale is agreed in the SYN.
        let dial =
            Dial { addr: self.setup.upstream, from: None, buffers: self.setup.upstream_buffers };
        let mut stream = TcpStream::from_std(StdTcpStream::from(dial.start()?));
        let token = self.key.token(Peer::Upstream);
        self.registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
        Ok(stream)
    }

    fn temp_file(&self) -> io::Result<Box<dyn TempFile>> {
        let buffering = self.setup.limits.buffering.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        Ok(Box::new(tempfile::tempfile_in(&buffering.dir)?))
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
