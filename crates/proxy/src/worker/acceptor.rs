//! A worker's listener: level-triggered, one accept a loop turn, left alone for a while when the host
//! has no descriptor or memory left.
//!
//! As nginx: `EPOLLIN` without `EPOLLET`, `multi_accept off`, and for a listener that workers share
//! one of two ways to say who is woken ([`Watch`]). mio knows neither, but its registry
//! hands out the epoll descriptor; an event added there comes back through mio with the token given.
//! nginx's habit of adding an exclusive listener anew every 16 accepts (1.21.6) is not mirrored.
//!
//! Sources: nginx 1.22.1, `ngx_event_process_init` (src/event/ngx_event.c) and `ngx_event_accept`
//! (src/event/ngx_event_accept.c).

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use mio::Registry;
use mio::net::{TcpListener, TcpStream};
use records::MonoNs;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;

use super::WorkerSetup;
use super::sessions::LISTENER;

/// How long accepting stops after the host ran out of something (`accept_mutex_delay`, 500 ms).
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// How a worker watches its listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// Always, and every worker that does is woken: a listener of its own, or the herd (nginx
    /// before 1.11.3 with `accept_mutex off`).
    Always,
    /// Always, and one worker of those that sleep is woken: `EPOLLEXCLUSIVE` (nginx from 1.11.3).
    Exclusive,
}

/// What came of an accept.
#[derive(Debug)]
pub(crate) enum Accept {
    /// A connection.
    Connection(TcpStream, SocketAddr),
    /// Nobody waits: another worker was faster (EAGAIN).
    Nobody,
    /// The one who waited has gone.
    Gone,
    /// No descriptor or no memory: accepting stops for a while.
    Paused,
}

/// The listener and whether it is watched.
pub(crate) struct Acceptor {
    listener: Arc<TcpListener>,
    flags: EventFlags,
    watched: bool,
    /// When accepting starts again; `None`: it has not stopped.
    pub(crate) paused_until: Option<MonoNs>,
}

impl Acceptor {
    /// Starts to watch the worker's listener.
    pub(crate) fn open(registry: &Registry, setup: &WorkerSetup) -> io::Result<Self> {
        let flags = match setup.watch {
            Watch::Always => EventFlags::IN,
            Watch::Exclusive => EventFlags::IN | EventFlags::EXCLUSIVE,
        };
        let listener = Arc::clone(&setup.listener);
        let mut acceptor = Self { listener, flags, watched: false, paused_until: None };
        acceptor.watch(registry)?;
        Ok(acceptor)
    }

    /// Accepts one connection.
    pub(crate) fn accept(&mut self, registry: &Registry, now: MonoNs) -> Accept {
        match self.listener.accept() {
            Ok((stream, addr)) => Accept::Connection(stream, addr),
            // Level-triggered, the listener would wake the worker without end.
            Err(error) if net::tcp::is_shortage(&error) => {
                self.unwatch(registry);
                self.paused_until = Some(now + RETRY_AFTER);
                Accept::Paused
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Accept::Nobody,
            Err(_) => Accept::Gone,
        }
    }

    /// Starts again if it is time to.
    pub(crate) fn resume(&mut self, registry: &Registry, now: MonoNs) {
        if self.paused_until.is_some_and(|until| until <= now) {
            let failed = self.watch(registry).is_err();
            self.paused_until = failed.then(|| now + RETRY_AFTER);
        }
    }

    fn watch(&mut self, registry: &Registry) -> io::Result<()> {
        if self.watched {
            return Ok(());
        }
        let data = EventData::new_u64(LISTENER.0 as u64);
        match epoll::add(registry, &*self.listener, data, self.flags) {
            Ok(()) | Err(Errno::EXIST) => self.watched = true,
            Err(Errno::INVAL) if self.flags.contains(EventFlags::EXCLUSIVE) => {
                return Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    "this kernel has no EPOLLEXCLUSIVE (Linux 4.5): run with --reuseport or \
                     --accept herd",
                ));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn unwatch(&mut self, registry: &Registry) {
        // A failure leaves it watched: the worker turns more often, but accepts later.
        if self.watched && epoll::delete(registry, &*self.listener).is_ok() {
            self.watched = false;
        }
    }
}
