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

/// How far that is ahead of [`now`], in nanoseconds. Measured once, a step of the wall clock is not followed.
pub fn unix_ahead_ns() -> u64 {
    nanoseconds(ClockId::Realtime).saturating_sub(nanoseconds(ClockId::Monotonic))
}

/// The monotonic time of a wall time, milliseconds since 1970; zero for what was before boot.
pub fn of_unix_ms(unix_ms: u64, ahead_ns: u64) -> MonoNs {
    MonoNs(unix_ms.saturating_mul(1_000_000).saturating_sub(ahead_ns))
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
