//! The true clock: `CLOCK_MONOTONIC`, read through the vDSO (no system call).

use records::MonoNs;
use rustix::time::{ClockId, clock_gettime};

/// Now, in nanoseconds since an arbitrary point of this boot. The same on every process of a host.
pub fn now() -> MonoNs {
    let time = clock_gettime(ClockId::Monotonic);
    let secs = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    MonoNs(secs * 1_000_000_000 + nanos)
}
