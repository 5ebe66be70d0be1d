//! The clock that stands still within a loop turn, as nginx's does.
//!
//! nginx refreshes it right after `epoll_wait` (`ngx_time_update`) and logs from it, so a step of
//! seconds leaves no trace in `$request_time`. The records use [`net::clock`] instead.

use records::MonoNs;
use rustix::time::{ClockId, clock_gettime};

/// Time as of the last [`Self::refresh`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct CachedClock {
    mono: MonoNs,
    unix_ms: u64,
}

impl CachedClock {
    pub(crate) fn new() -> Self {
        let mut clock = Self { mono: MonoNs(0), unix_ms: 0 };
        clock.refresh();
        clock
    }

    /// Reads both clocks; called once a loop turn.
    pub(crate) fn refresh(&mut self) {
        let wall = clock_gettime(ClockId::Realtime);
        let secs = u64::try_from(wall.tv_sec).unwrap_or(0);
        let nanos = u64::try_from(wall.tv_nsec).unwrap_or(0);
        self.mono = net::clock::now();
        self.unix_ms = secs * 1_000 + nanos / 1_000_000;
    }

    pub(crate) fn mono(&self) -> MonoNs {
        self.mono
    }

    /// Whole milliseconds since boot: differences of these are what nginx logs.
    pub(crate) fn ms(&self) -> u64 {
        self.mono.0 / 1_000_000
    }

    pub(crate) fn unix_ms(&self) -> u64 {
        self.unix_ms
    }
}
