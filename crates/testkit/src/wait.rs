//! Waiting that comes to an end: what hangs makes a test fail, not hang, and the failure names what
//! was waited for.

use std::thread;
use std::time::{Duration, Instant};

/// Nothing in these tests takes as long unless it hangs, also on a busy host.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Between two looks at what tells nobody when it changes.
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// When patience ends.
pub(crate) fn soon() -> Instant {
    Instant::now() + PATIENCE
}

/// What is left until then; zero once it has passed.
pub(crate) fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// Looks again and again until `what` is there, and returns what `look` found.
#[track_caller]
pub fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    until_by(soon(), what, look)
}

#[track_caller]
pub(crate) fn until_by<T>(deadline: Instant, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(!left(deadline).is_zero(), "waited in vain for {what}");
        thread::sleep(BETWEEN_LOOKS);
    }
}
