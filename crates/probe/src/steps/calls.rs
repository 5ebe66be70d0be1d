//! System calls, counted: how often each, how long in it, what it moved.

use std::collections::{BTreeMap, BTreeSet};

use aya::maps::{HashMap, MapData, MapError};
use records::{Bytes, CallTotal, CallTotals, Micros, MonoNs, Record};

use crate::calls::Call;
use crate::engine::SAMPLED;
use crate::error::ProbeError;
use crate::target::Take;
use crate::wire::{Slot, micros};

/// What the programs counted, by thread and call.
#[derive(Debug, Default)]
pub(super) struct CallCounts(pub(super) Vec<(u32, Call, CallTotal)>);

impl CallCounts {
    /// Reads the programs' table.
    pub(super) fn read(table: &HashMap<MapData, [u32; 2], [u64; 3]>) -> Result<Self, ProbeError> {
        let counted = table.iter().map(|found| {
            let ([tid, number], [count, asleep, samples]) = found?;
            let (asleep_us, sampled) = (micros(asleep), samples.saturating_mul(SAMPLED.every_ns));
            let time_us = Micros(micros(sampled).0 + asleep_us.0);
            let total = CallTotal { count, time_us, asleep_us, ..CallTotal::default() };
            Ok((tid, Call::of(number), total))
        });
        let counted: Result<_, MapError> = counted.collect();
        counted.map(Self).map_err(ProbeError::refused("read a table"))
    }

    /// Threads of whose calls a tenth or more were sleeps by a timer.
    pub(super) fn timed(&self) -> BTreeSet<u32> {
        let mut calls: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for (tid, call, total) in &self.0 {
            let (timed, all) = calls.entry(*tid).or_default();
            *timed += if call.is_timer() { total.count } else { 0 };
            *all += total.count;
        }
        calls.retain(|_, (timed, all)| *timed > 0 && *timed >= *all / 10);
        calls.into_keys().collect()
    }
}

/// Calls of one worker by number.
#[derive(Debug, Default)]
pub(super) struct Calls(BTreeMap<u32, CallTotal>);

impl Calls {
    /// Bits of a size behind its first that are kept: 1 in 128 is under 1 %.
    const BITS: u32 = 7;

    /// Takes in calls that followed each other on one descriptor.
    pub(super) fn add(&mut self, slot: &Slot) {
        self.moved(slot.call(), (slot.data, slot.other), slot.bytes);
    }

    /// Those that moved `bytes` together, and others.
    fn moved(&mut self, call: u32, (moved, other): (u32, u32), bytes: u64) {
        let total = self.0.entry(call).or_default();
        total.count += u64::from(moved) + u64::from(other);
        total.bytes += Bytes(bytes);
        if let Some(mean) = bytes.checked_div(moved.into()) {
            let low = (u64::BITS - mean.leading_zeros()).saturating_sub(Self::BITS + 1);
            *total.sizes.entry(mean >> low << low).or_default() += u64::from(moved);
        }
    }

    /// Tells them with what the programs counted of the worker's threads. `polled`: the call it polls with,
    /// how often, and how long in all.
    pub(super) fn tell(
        &self,
        (worker, at_ns): (u32, MonoNs),
        counts: &CallCounts,
        is_its: impl Fn(u32) -> bool,
        polled: Option<(u32, u64, Micros)>,
        take: Take<'_>,
    ) {
        let mut calls: BTreeMap<String, CallTotal> = BTreeMap::new();
        for (call, total) in &self.0 {
            calls.insert(Call::of(*call).to_string(), total.clone());
        }
        let is_its =
            |(tid, call, _): &&(u32, Call, CallTotal)| is_its(*tid) && *call != Call::PageFault;
        for (_, call, total) in counts.0.iter().filter(is_its) {
            let sum = calls.entry(call.to_string()).or_default();
            sum.count += total.count;
            sum.time_us.0 += total.time_us.0;
            sum.asleep_us.0 += total.asleep_us.0;
        }
        if let Some((call, count, time)) = polled {
            let call = calls.entry(Call::of(call).to_string()).or_default();
            (call.count, call.time_us) = (count, time.max(call.asleep_us));
        }
        if !calls.is_empty() {
            take(Record::CallTotals(CallTotals { worker, at_ns, calls }));
        }
    }
}

#[cfg(test)]
mod tests;
