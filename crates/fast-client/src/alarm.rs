//! A timer with the kernel's own precision: `timerfd(2)` on the clock of the records.
//!
//! The runtime's timers count whole milliseconds: with them the median fetch starts more than a
//! millisecond late, with this a tenth of that. A late start is noise in the very figure that tells
//! whether the client was at fault.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use net::clock;
use records::MonoNs;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// One timer, set anew for every wait.
#[derive(Debug)]
pub(crate) struct Alarm(AsyncFd<OwnedFd>);

impl Alarm {
    /// # Errors
    /// As `timerfd_create(2)`.
    #[expect(
        deprecated,
        reason = "its successor is unsafe for what could close the descriptor; an OwnedFd cannot"
    )]
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self(AsyncFd::with_interest(timer, Interest::READABLE)?))
    }

    /// Waits until `at`; not at all if that has passed. Dropped, it can be asked again.
    ///
    /// # Errors
    /// As `timerfd_settime(2)` and `read(2)`.
    pub(crate) async fn until(&self, at: MonoNs) -> io::Result<()> {
        if clock::now() >= at {
            return Ok(());
        }
        let it_value = Timespec::try_from(Duration::from_nanos(at.0)).map_err(io::Error::other)?;
        let time = Itimerspec { it_interval: Timespec::default(), it_value };
        timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::ABSTIME, &time)?;
        loop {
            let mut ready = self.0.readable().await?;
            // The readiness may be that of an earlier time: only what is read counts.
            let read = ready.try_io(|timer| Ok(rustix::io::read(timer.get_ref(), &mut [0; 8])?));
            if let Ok(read) = read {
                return read.map(drop);
            }
        }
    }
}
