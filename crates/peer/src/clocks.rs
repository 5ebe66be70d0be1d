//! From the wall clock of access logs to the monotonic clock of records.

use jiff::Timestamp;
use net::clock;
use records::MonoNs;

/// How far the two clocks are apart, measured once: a step of the wall clock in a run is not
/// followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clocks {
    /// The wall clock's reading when the monotonic one stood at zero, nanoseconds since 1970.
    origin_ns: i128,
}

impl Clocks {
    pub(crate) fn read() -> Self {
        let mono = i128::from(clock::now().0);
        Self { origin_ns: Timestamp::now().as_nanosecond() - mono }
    }

    /// The monotonic time of a wall time, milliseconds since 1970; zero for what was before boot.
    pub(crate) fn mono(self, unix_ms: u64) -> MonoNs {
        let ns = i128::from(unix_ms) * 1_000_000 - self.origin_ns;
        MonoNs(u64::try_from(ns.max(0)).unwrap_or(u64::MAX))
    }
}

/// Milliseconds since 1970, now.
pub(crate) fn unix_ms() -> u64 {
    u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_times_come_out_on_the_monotonic_clock() {
        let clocks = Clocks::read();
        let (before, wall, after) = (clock::now().0, unix_ms(), clock::now().0);
        let mono = clocks.mono(wall).0;
        // A wall time in milliseconds is up to one of them early.
        assert!(mono + 2_000_000 >= before && mono <= after + 2_000_000);
        assert_eq!(clocks.mono(0), MonoNs(0));
    }
}
