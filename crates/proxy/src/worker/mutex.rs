//! nginx's accept mutex: of the workers that share a listener one at a time may watch it.
//!
//! Before each poll a worker tries the lock. Who gets it watches the listener, accepts first of all
//! that its poll names, and gives the lock up before it does anything else. Who does not get it
//! stops watching and polls for at most [`RETRY_AFTER`]. A worker with more than 7/8 of its
//! sessions in use sits out as many tries as it has too many.
//!
//! Not for: epoll itself; that is the acceptor's.
//!
//! As in nginx, *watching* outlasts the lock: a worker that gave it up stops watching only when a
//! later try fails, so that for a moment two may watch. One that sits out keeps watching if it did,
//! but serves its listener among the other events then, in their order.
//!
//! Sources: nginx 1.22.1, `ngx_process_events_and_timers` and `ngx_event_process_init`
//! (src/event/ngx_event.c), `ngx_trylock_accept_mutex` and `ngx_event_accept`
//! (src/event/ngx_event_accept.c).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How long a worker without the lock polls at most (`accept_mutex_delay`, 500 ms).
pub(crate) const RETRY_AFTER: Duration = Duration::from_millis(500);

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
