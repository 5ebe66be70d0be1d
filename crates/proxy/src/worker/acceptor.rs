//! A worker's listener: level-triggered, one accept a loop turn, left alone for a while when the host
//! has no descriptor or memory left.
//!
//! As nginx: `EPOLLIN` without `EPOLLET`, `multi_accept off`, and for a listener that workers share
//! one of three ways to say who is woken ([`Watch`]). mio knows none of them, but its registry
//! hands out the epoll descriptor; an event added there comes back through mio with the token given.
//! nginx's habit of adding an exclusive listener anew every 16 accepts (1.21.6) is not mirrored.
//!
//! nginx's accept mutex ([`Mutex`]): of the workers that share a listener one at a time may watch it.
//! Before each poll a worker tries the lock. Who gets it watches the listener, accepts first of all
//! that its poll names, and gives the lock up before it does anything else. Who does not get it
//! stops watching and polls for at most [`RETRY_AFTER`]. A worker with more than 7/8 of its
//! sessions in use sits out as many tries as it has too many. As in nginx, *watching* outlasts the
//! lock: a worker that gave it up stops watching only when a later try fails, so that for a moment two
//! may watch. One that sits out keeps watching if it did, but serves its listener among the other events
//! then, in their order.
//!
//! Sources: nginx 1.22.1, `ngx_process_events_and_timers` and `ngx_event_process_init`
//! (src/event/ngx_event.c), `ngx_trylock_accept_mutex` and `ngx_event_accept`
//! (src/event/ngx_event_accept.c).

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mio::Registry;
use mio::net::{TcpListener, TcpStream};
use records::MonoNs;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;

use super::WorkerSetup;
use super::sessions::LISTENER;

/// How long a worker without the lock polls at most, and how long accepting stops after the host ran out
/// of something (`accept_mutex_delay`, 500 ms).
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// How a worker watches its listener.
#[derive(Clone, Debug)]
pub(crate) enum Watch {
    /// Always, and every worker that does is woken: a listener of its own, or the herd (nginx
    /// before 1.11.3 with `accept_mutex off`).
    Always,
    /// Always, and one worker of those that sleep is woken: `EPOLLEXCLUSIVE` (nginx from 1.11.3).
    Exclusive,
    /// Only while it has, or had last, this lock (`accept_mutex on`).
    WithLock(Arc<AcceptLock>),
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
    /// `None`: no lock has to be had.
    mutex: Option<Mutex>,
    watched: bool,
    /// When accepting starts again; `None`: it has not stopped.
    pub(crate) paused_until: Option<MonoNs>,
}

impl Acceptor {
    /// Starts to watch the worker's listener, or with a lock to try for it.
    pub(crate) fn open(registry: &Registry, setup: &WorkerSetup) -> io::Result<Self> {
        let (flags, mutex) = match &setup.watch {
            Watch::Always => (EventFlags::IN, None),
            Watch::Exclusive => (EventFlags::IN | EventFlags::EXCLUSIVE, None),
            Watch::WithLock(lock) => {
                (EventFlags::IN, Some(Mutex::new(Arc::clone(lock), setup.index)))
            }
        };
        let listener = Arc::clone(&setup.listener);
        let mut acceptor = Self { listener, flags, mutex, watched: false, paused_until: None };
        if acceptor.mutex.is_none() {
            acceptor.watch(registry)?;
        }
        Ok(acceptor)
    }

    /// Accepts one connection, with `used` of `all` sessions in use.
    pub(crate) fn accept(
        &mut self,
        registry: &Registry,
        now: MonoNs,
        used: usize,
        all: usize,
    ) -> Accept {
        match self.listener.accept() {
            Ok((stream, addr)) => {
                if let Some(mutex) = &mut self.mutex {
                    mutex.accepted(used, all);
                }
                Accept::Connection(stream, addr)
            }
            Err(error) if net::tcp::is_shortage(&error) => {
                self.pause(registry, now);
                Accept::Paused
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Accept::Nobody,
            Err(_) => Accept::Gone,
        }
    }

    /// Stops watching: level-triggered, the listener would wake the worker without end.
    pub(crate) fn pause(&mut self, registry: &Registry, now: MonoNs) {
        self.unwatch(registry);
        if let Some(mutex) = &mut self.mutex {
            mutex.yield_to_others();
        }
        self.paused_until = Some(now + RETRY_AFTER);
    }

    /// Starts again if it is time to.
    pub(crate) fn resume(&mut self, registry: &Registry, now: MonoNs) {
        if self.paused_until.is_some_and(|until| until <= now) {
            self.paused_until = None;
            if self.mutex.is_none() && self.watch(registry).is_err() {
                self.paused_until = Some(now + RETRY_AFTER);
            }
        }
    }

    /// To be called before each poll: tries the lock, if there is one. How long the poll may wait;
    /// `None`: as long as it likes.
    ///
    /// # Errors
    /// The listener could not be watched.
    pub(crate) fn before_poll(&mut self, registry: &Registry) -> io::Result<Option<Duration>> {
        let Some(mutex) = &mut self.mutex else { return Ok(None) };
        if self.paused_until.is_some() {
            return Ok(None);
        }
        match mutex.try_lock() {
            Try::SatOut => Ok(None),
            Try::Watch => self.watch(registry).map(|()| None),
            Try::Unwatch => {
                self.unwatch(registry);
                Ok(Some(RETRY_AFTER))
            }
        }
    }

    /// Whether accepts come before all other work of this loop turn, and [`Self::unlock`] after
    /// them.
    pub(crate) fn accepts_first(&self) -> bool {
        self.mutex.as_ref().is_some_and(Mutex::is_held)
    }

    /// Gives the lock up, if there is one and it is ours.
    pub(crate) fn unlock(&self) {
        if let Some(mutex) = &self.mutex {
            mutex.unlock();
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

/// Nobody has the lock.
const FREE: u32 = 0;

/// The lock that workers share: zero, or one more than the index of the worker that has it.
#[derive(Debug, Default)]
pub(crate) struct AcceptLock(AtomicU32);

/// What a try of the lock asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Try {
    /// The lock is had: watch the listener.
    Watch,
    /// Another worker has it: do not watch, and try again after [`RETRY_AFTER`].
    Unwatch,
    /// This try is sat out: leave all as it is.
    SatOut,
}

/// One worker's hand on the lock.
#[derive(Debug)]
pub(crate) struct Mutex {
    lock: Arc<AcceptLock>,
    /// What stands in the lock while it is ours.
    me: u32,
    /// The last try was made and successful, whether or not the lock was given up since. Not
    /// `ngx_accept_mutex_held`, which a try that is sat out leaves alone: that one tells whether the
    /// listener is watched, which the acceptor knows.
    held: bool,
    /// `ngx_accept_disabled`: tries to sit out.
    to_sit_out: usize,
}

impl Mutex {
    /// The hand of `worker`, which does not have the lock.
    pub(crate) fn new(lock: Arc<AcceptLock>, worker: u32) -> Self {
        Self { lock, me: worker.saturating_add(1), held: false, to_sit_out: 0 }
    }

    /// To be called before each poll.
    pub(crate) fn try_lock(&mut self) -> Try {
        if self.to_sit_out > 0 {
            self.to_sit_out -= 1;
            self.held = false;
            return Try::SatOut;
        }
        let got = self.lock.0.compare_exchange(FREE, self.me, Ordering::Acquire, Ordering::Relaxed);
        self.held = got.is_ok();
        if self.held { Try::Watch } else { Try::Unwatch }
    }

    /// Whether accepts come before all other work of this loop turn (`NGX_POST_EVENTS`).
    pub(crate) fn is_held(&self) -> bool {
        self.held
    }

    /// Gives the lock up, if it is ours (`ngx_shmtx_unlock` compares as well).
    pub(crate) fn unlock(&self) {
        let _ = self.lock.0.compare_exchange(self.me, FREE, Ordering::Release, Ordering::Relaxed);
    }

    /// A connection was accepted when `used` of `all` sessions were in use.
    pub(crate) fn accepted(&mut self, used: usize, all: usize) {
        self.to_sit_out = (all / 8).saturating_sub(all.saturating_sub(used));
    }

    /// Nothing can be accepted for lack of something: others shall try.
    pub(crate) fn yield_to_others(&mut self) {
        self.unlock();
        self.held = false;
        self.to_sit_out = 1;
    }
}
