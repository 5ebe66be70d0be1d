//! Whether the load stands, and how fast it is, told by the slow client's intervals. Pure.
//!
//! A load that has stopped makes every fetch fast: it must be an error before it is a figure.

use std::collections::BTreeMap;
use std::time::Duration;

use records::{Bytes, BytesPerSec, DownloadInterval, MonoNs};

#[cfg(test)]
mod tests;

/// How long all downloads of a worker may receive nothing, and how long the slow client may say
/// nothing. A single download may wait for longer: that is what is measured. But a worker that has
/// downloads always relays one of them, unless it has no CPU; a host that is very busy withholds
/// that for seconds. What is shorter is told by [`Standing::longest_standstill`].
pub(super) const STANDS_STILL: Duration = Duration::from_secs(5);

/// The load of one arm, from a point in time on.
#[derive(Debug)]
pub(super) struct Standing {
    since: MonoNs,
    until: MonoNs,
    /// The worker of each slot.
    holders: Vec<Option<u32>>,
    bytes: Vec<Bytes>,
    last_byte: BTreeMap<Option<u32>, MonoNs>,
    longest_standstill: Duration,
}

/// Downloads that receive nothing any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum StandsStill {
    /// All of one worker.
    #[error("the downloads of worker {0} received nothing for {STANDS_STILL:?}: there is no load")]
    Worker(u32),
    /// All whose worker is not known.
    #[error("a download received nothing for {STANDS_STILL:?}: there is no load")]
    Unknown,
    /// Nobody knows.
    #[error("the slow client said nothing for {STANDS_STILL:?}: nobody knows of a load")]
    Silent,
}

impl Standing {
    /// Watches downloads that `holders` hold, by slot, from `since` on.
    pub(super) fn new(since: MonoNs, holders: Vec<Option<u32>>) -> Self {
        Self {
            since,
            until: since,
            bytes: vec![Bytes(0); holders.len()],
            last_byte: holders.iter().map(|&holder| (holder, since)).collect(),
            holders,
            longest_standstill: Duration::ZERO,
        }
    }

    /// Takes the next interval. One that began too early is not counted.
    ///
    /// # Errors
    /// A worker's downloads have received nothing for long.
    pub(super) fn take(&mut self, interval: &DownloadInterval) -> Result<(), StandsStill> {
        if interval.start_ns < self.since {
            return Ok(());
        }
        self.until = interval.end_ns;
        for ((sum, holder), &bytes) in self.bytes.iter_mut().zip(&self.holders).zip(&interval.bytes)
        {
            *sum += bytes;
            if bytes > Bytes(0) {
                self.last_byte.insert(*holder, interval.end_ns);
            }
        }
        for (&holder, &last) in &self.last_byte {
            let stood_still = self.until.since(last);
            self.longest_standstill = self.longest_standstill.max(stood_still);
            if stood_still >= STANDS_STILL {
                return Err(holder.map_or(StandsStill::Unknown, StandsStill::Worker));
            }
        }
        Ok(())
    }

    /// Something happened at `now` that means something only if the load stood then.
    ///
    /// # Errors
    /// The slow client has not told for long what its downloads received.
    pub(super) fn heard(&mut self, now: MonoNs) -> Result<(), StandsStill> {
        let silent = now.since(self.until);
        self.longest_standstill = self.longest_standstill.max(silent);
        if silent < STANDS_STILL { Ok(()) } else { Err(StandsStill::Silent) }
    }

    /// The longest time in which a worker's downloads received nothing or nothing was heard of
    /// them. An interval or two, unless something is wrong.
    pub(super) fn longest_standstill(&self) -> Duration {
        self.longest_standstill
    }

    /// Whether a download of every worker that has any has received something.
    pub(super) fn all_workers_move(&self) -> bool {
        self.last_byte.values().all(|&last| last > self.since)
    }

    /// Whether every download has received something.
    pub(super) fn all_move(&self) -> bool {
        self.bytes.iter().all(|&bytes| bytes > Bytes(0))
    }

    /// All downloads together; `None`: no whole interval was seen.
    pub(super) fn rate(&self) -> Option<BytesPerSec> {
        let elapsed = self.until.since(self.since);
        (elapsed > Duration::ZERO).then(|| self.bytes.iter().copied().sum::<Bytes>().per(elapsed))
    }
}
