//! How fast one download may be read: a token bucket. Reads no clock.

use std::time::Duration;

use records::{BytesPerSec, MonoNs};

/// A paced reader reads at most this often: 100 times a second, whatever the rate.
const TICK: Duration = Duration::from_millis(10);

/// What the bucket holds: a reader that was kept from its CPU for up to this long catches up.
const DEPTH: Duration = Duration::from_millis(50);

const NANOS: u128 = 1_000_000_000;

/// Fills at a rate, and gives what one tick brings or more, never less than a byte.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    rate: u64,
    /// Bytes times a billion, so that no fraction of a byte is lost.
    credit: u128,
    filled_ns: MonoNs,
}

impl Bucket {
    /// An empty bucket. A rate of zero counts as one byte per second.
    pub(crate) fn new(BytesPerSec(rate): BytesPerSec, now: MonoNs) -> Self {
        Self { rate: rate.max(1), credit: 0, filled_ns: now }
    }

    /// How many bytes may be read now; 0 until a tick's worth is there.
    pub(crate) fn allowed(&mut self, now: MonoNs) -> u64 {
        let elapsed = now.since(self.filled_ns).as_nanos();
        self.filled_ns = self.filled_ns.max(now);
        self.credit = (self.credit + elapsed * u128::from(self.rate)).min(self.worth(DEPTH));
        if self.credit < self.worth(TICK) {
            return 0;
        }
        u64::try_from(self.credit / NANOS).unwrap_or(u64::MAX)
    }

    /// Takes out what was read.
    pub(crate) fn spend(&mut self, bytes: u64) {
        self.credit = self.credit.saturating_sub(u128::from(bytes) * NANOS);
    }

    /// When a tick's worth will be there, if nothing is read until then. Later than `now`, and on
    /// a whole tick of the clock: all buckets meet there, and one wake-up serves many downloads.
    pub(crate) fn due(&self, now: MonoNs) -> MonoNs {
        let missing = self.worth(TICK).saturating_sub(self.credit);
        let wait = u64::try_from(missing.div_ceil(u128::from(self.rate))).unwrap_or(u64::MAX);
        let ready = now + Duration::from_nanos(wait.max(1));
        let tick = u64::try_from(TICK.as_nanos()).unwrap_or(u64::MAX);
        MonoNs(ready.0.div_ceil(tick).saturating_mul(tick))
    }

    /// The credit that `time` brings, at least that of one byte.
    fn worth(&self, time: Duration) -> u128 {
        (u128::from(self.rate) * time.as_nanos()).max(NANOS)
    }
}

#[cfg(test)]
mod tests;
