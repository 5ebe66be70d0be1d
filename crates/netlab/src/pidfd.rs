//! A process that stays the same one, whatever becomes of its number: pidfd_open(2).

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A handle on one process. Needs Linux 5.3.
#[derive(Debug)]
pub(crate) struct Pidfd(OwnedFd);

impl Pidfd {
    /// The process that has this number now.
    pub(crate) fn open(pid: u32) -> io::Result<Self> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("not a process id"))?;
        Ok(Self(pidfd_open(pid, PidfdFlags::empty())?))
    }

    /// Sends SIGKILL.
    pub(crate) fn kill(&self) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.0, Signal::KILL)?)
    }

    /// Waits for its end, but not past `deadline`.
    pub(crate) fn wait(&self, deadline: Instant) -> Waited {
        wait_readable(&self.0, deadline).map_or(Waited::StillThere, |()| Waited::Ended)
    }
}

/// What a wait came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The process has ended; its parent may still have to collect it.
    Ended,
    /// The time was up.
    StillThere,
}

/// Waits until `fd` can be read or its other side is gone.
///
/// # Errors
/// `TimedOut` at the deadline.
pub(crate) fn wait_readable(fd: &impl std::os::fd::AsFd, deadline: Instant) -> io::Result<()> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut fds = [PollFd::new(fd, PollFlags::IN)];
        match poll(&mut fds, Some(&timespec(left))) {
            Ok(0) if left.is_zero() => return Err(io::ErrorKind::TimedOut.into()),
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn timespec(length: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(length.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: length.subsec_nanos().into(),
    }
}
