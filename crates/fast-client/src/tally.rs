//! Which fetches have a record of their own, and the count of those that have none.
//!
//! In an open loop all have one: it makes as many as were asked for. A closed loop makes as many as the
//! server answers, tens of thousands in a second, and a record for each would cost more than the fetch. Of
//! these so many in a second are told one by one, of each outcome: failures are rare, and all told, or so
//! many that a sample of them serves. The rest is counted, each time to 0.1 %.

use std::collections::BTreeMap;
use std::time::Duration;

use net::clock;
use records::{Arrivals, Fetch, FetchTotals, Micros, MonoNs, Outcome, Phase, Record};

#[cfg(test)]
mod tests;

/// Fetches of one outcome that are told one by one in a second of a closed loop.
const TOLD: u64 = 1_000;
/// How often what is counted is told.
const INTERVAL: Duration = Duration::from_secs(1);
/// Leading bits of a time that are kept: one in 1024 is 0.1 %.
const BITS: u32 = 10;

/// What becomes of the fetches that ended.
#[derive(Debug)]
pub(crate) struct Tally {
    /// How many fetches of one outcome have a record in a second.
    most: u64,
    from: MonoNs,
    counts: BTreeMap<(Phase, Outcome), Count>,
}

/// The fetches of one outcome in this second.
#[derive(Debug, Default)]
struct Count {
    seen: u64,
    /// How many of them have a record.
    told: u64,
    /// Each so-manieth has one (zero: each): as many as there were in the second before, so that those that have one are
    /// spread over the second.
    stride: u64,
    /// The others, by their times.
    times: BTreeMap<Micros, u64>,
}

impl Tally {
    /// Nothing has ended yet.
    pub(crate) fn new(arrivals: Arrivals, now: MonoNs) -> Self {
        let most = match arrivals {
            Arrivals::PerSecond(_) => u64::MAX,
            Arrivals::Closed(_) => TOLD,
        };
        Self { most, from: now, counts: BTreeMap::new() }
    }

    /// A fetch has ended: what is to be told now.
    pub(crate) fn add(&mut self, fetch: Fetch) -> impl Iterator<Item = Record> + use<> {
        let now = clock::now();
        let due = now.since(self.from) >= INTERVAL;
        let totals = due.then(|| self.take_totals(now)).into_iter().flatten();
        totals.map(Record::FetchTotals).chain(self.record(fetch).map(Record::Fetch))
    }

    /// The fetch, if it is to have a record; else it is counted.
    fn record(&mut self, fetch: Fetch) -> Option<Fetch> {
        let count = self.counts.entry((fetch.phase, fetch.outcome)).or_default();
        count.seen += 1;
        if count.seen.is_multiple_of(count.stride.max(1)) && count.told < self.most {
            count.told += 1;
            return Some(fetch);
        }
        *count.times.entry(rounded(fetch.total_us)).or_default() += 1;
        None
    }

    /// What was counted and is not told yet.
    pub(crate) fn take_totals(&mut self, now: MonoNs) -> impl Iterator<Item = FetchTotals> + use<> {
        let from_ns = std::mem::replace(&mut self.from, now);
        let mut totals = Vec::new();
        for (&(phase, outcome), count) in &mut self.counts {
            let next = Count { stride: count.seen.div_ceil(self.most), ..Count::default() };
            let Count { times, .. } = std::mem::replace(count, next);
            if !times.is_empty() {
                let times_us = times.into_iter().collect();
                totals.push(FetchTotals { phase, from_ns, until_ns: now, outcome, times_us });
            }
        }
        totals.into_iter()
    }
}

/// The next larger time of [`BITS`] leading bits, so that a second of times has few of them.
fn rounded(time: Micros) -> Micros {
    let low = (u64::BITS - time.0.leading_zeros()).saturating_sub(BITS + 1);
    Micros(time.0.div_ceil(1 << low) << low)
}
