//! A worker's listener: level-triggered, one accept a loop turn, closed while there is no room.
//!
//! As nginx: `EPOLLIN` without `EPOLLET`, with `EPOLLEXCLUSIVE` when workers share the listener
//! (1.11.3), `multi_accept off`. mio knows neither, but its registry hands out the epoll
//! descriptor; an event added there comes back through mio with the token given.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use mio::Registry;
use mio::net::{TcpListener, TcpStream};
use records::{ListenerMode, MonoNs};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;

use super::token::LISTENER;

/// How long accepting stops after the host ran out of something (`accept_mutex_delay`, 500 ms).
const PAUSE: Duration = Duration::from_millis(500);

/// How many connections a worker accepts in one loop turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AcceptBatch {
    /// One: `multi_accept off`, nginx's default.
    #[default]
    One,
    /// All that wait: `multi_accept on`.
    All,
}

/// What came of an accept.
#[derive(Debug)]
pub(crate) enum Accept {
    /// A connection.
    Connection(TcpStream, SocketAddr),
    /// Nobody waits (another worker was faster), or the one who did has gone.
    Nobody,
    /// No descriptor or no memory: the gate is closed for a while.
    Paused,
}

/// The listener and whether it is watched.
pub(crate) struct Gate {
    listener: Arc<TcpListener>,
    flags: EventFlags,
    /// When to watch again; `None`: it is watched.
    closed_until: Option<MonoNs>,
}

impl Gate {
    /// Starts to watch `listener`.
    pub(crate) fn open(
        registry: &Registry,
        listener: Arc<TcpListener>,
        mode: ListenerMode,
    ) -> io::Result<Self> {
        let flags = match mode {
            ListenerMode::Shared => EventFlags::IN | EventFlags::EXCLUSIVE,
            ListenerMode::Reuseport => EventFlags::IN,
        };
        let gate = Self { listener, flags, closed_until: None };
        gate.watch(registry)?;
        Ok(gate)
    }

    /// Accepts one connection.
    pub(crate) fn accept(&mut self, registry: &Registry, now: MonoNs) -> Accept {
        match self.listener.accept() {
            Ok((stream, addr)) => Accept::Connection(stream, addr),
            Err(error) if net::limit::is_shortage(&error) => {
                self.close(registry, now);
                Accept::Paused
            }
            Err(_) => Accept::Nobody,
        }
    }

    /// Stops watching: level-triggered, the listener would wake the worker without end.
    pub(crate) fn close(&mut self, registry: &Registry, now: MonoNs) {
        if self.closed_until.is_none() {
            // A failure leaves it watched: the worker turns more often, but accepts later.
            let _ = epoll::delete(registry, &*self.listener);
        }
        self.closed_until = Some(now + PAUSE);
    }

    /// When the gate opens by itself.
    pub(crate) fn closed_until(&self) -> Option<MonoNs> {
        self.closed_until
    }

    /// Watches again if it is time to.
    pub(crate) fn reopen(&mut self, registry: &Registry, now: MonoNs) {
        if self.closed_until.is_some_and(|until| until <= now) {
            self.closed_until = match self.watch(registry) {
                Ok(()) => None,
                Err(_) => Some(now + PAUSE),
            };
        }
    }

    fn watch(&self, registry: &Registry) -> io::Result<()> {
        let data = EventData::new_u64(LISTENER.0 as u64);
        match epoll::add(registry, &*self.listener, data, self.flags) {
            Err(Errno::EXIST) => Ok(()),
            Err(Errno::INVAL) if self.flags.contains(EventFlags::EXCLUSIVE) => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "this kernel has no EPOLLEXCLUSIVE (Linux 4.5): run with --reuseport",
            )),
            other => Ok(other?),
        }
    }
}
