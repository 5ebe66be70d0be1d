//! The clocks: the true one, `CLOCK_MONOTONIC`, read through the vDSO (no system call), and two more.

use records::{Micros, MonoNs};
use rustix::time::{ClockId, clock_gettime};

/// Now, in nanoseconds since an arbitrary point of this boot. The same on every process of a host.
pub fn now() -> MonoNs {
    MonoNs(nanoseconds(ClockId::Monotonic))
}

/// Milliseconds since 1970, as `CLOCK_REALTIME` has it.
pub fn unix_ms() -> u64 {
    nanoseconds(ClockId::Realtime) / 1_000_000
}

/// CPU time of the calling thread so far: a system call (no vDSO has it).
pub fn thread_cpu() -> Micros {
    Micros(nanoseconds(ClockId::ThreadCPUTime) / 1_000)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let secs = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    secs * 1_000_000_000 + nanos
}
