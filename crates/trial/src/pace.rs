//! How fast children are stopped: in their own time, or as fast as somebody presses Ctrl-C.

use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Time for all children together to end when asked, once somebody has pressed Ctrl-C: within 2 s
/// they are gone, also on a busy host where a killed process takes its time to die.
const HASTE: Duration = Duration::from_millis(800);

/// How children are stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// Each in its own time.
    Orderly,
    /// All by this time.
    Hasty(Instant),
    /// At once.
    Now,
}

impl Pace {
    /// The pace after one more signal.
    pub(super) fn hurried(self, now: Instant) -> Self {
        match self {
            Self::Orderly => Self::Hasty(now + HASTE),
            Self::Hasty(_) | Self::Now => Self::Now,
        }
    }

    /// Until when a child that was asked at `asked` and may take `timeout` has time.
    pub(super) fn deadline(self, asked: Instant, timeout: Duration) -> Instant {
        match self {
            Self::Orderly => asked + timeout,
            Self::Hasty(all) => all.min(asked + timeout),
            Self::Now => asked,
        }
    }
}
