//! How fast one download may be read: a token bucket. Reads no clock.

use std::time::Duration;

use records::{BytesPerSec, MonoNs};

/// A paced reader wakes at most this often: 100 times a second, whatever the rate.
const TICK: Duration = Duration::from_millis(10);

/// Fills at a rate, holds what two ticks bring, and at least one byte.
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

    /// How many bytes may be read now.
    pub(crate) fn allowed(&mut self, now: MonoNs) -> u64 {
        let elapsed = now.since(self.filled_ns).as_nanos();
        self.filled_ns = self.filled_ns.max(now);
        self.credit = (self.credit + elapsed * u128::from(self.rate)).min(self.worth(2 * TICK));
        u64::try_from(self.credit / NANOS).unwrap_or(u64::MAX)
    }

    /// Takes out what was read.
    pub(crate) fn spend(&mut self, bytes: u64) {
        self.credit = self.credit.saturating_sub(u128::from(bytes) * NANOS);
    }

    /// When one tick's bytes will be in it. All buckets meet on the same ticks, so that one wake-up
    /// serves many downloads.
    pub(crate) fn due(&self, now: MonoNs) -> MonoNs {
        let missing = self.worth(TICK).saturating_sub(self.credit);
        let wait = missing.div_ceil(u128::from(self.rate));
        let ready = now + Duration::from_nanos(u64::try_from(wait).unwrap_or(u64::MAX));
        let tick = u64::try_from(TICK.as_nanos()).unwrap_or(u64::MAX);
        MonoNs(ready.0.max(now.0.saturating_add(1)).div_ceil(tick).saturating_mul(tick))
    }

    /// Credit that `time` brings, at least that of one byte.
    fn worth(&self, time: Duration) -> u128 {
        (u128::from(self.rate) * time.as_nanos()).max(NANOS)
    }
}

const NANOS: u128 = 1_000_000_000;

#[cfg(test)]
mod tests;
