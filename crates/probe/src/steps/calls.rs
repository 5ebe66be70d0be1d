//! System calls, counted: how often each, how long in it, what it moved.

use std::collections::BTreeMap;

use aya::maps::{HashMap, MapData};
use records::{Bytes, CallTotal, Micros};

use crate::calls::Call;
use crate::engine::{SAMPLED, refused};
use crate::error::ProbeError;
use crate::wire::{self, Reader};

/// What the programs counted, by thread and call.
#[derive(Debug, Default)]
pub(super) struct CallCounts(BTreeMap<(u32, Call), CallTotal>);

impl CallCounts {
    /// Reads the programs' table.
    pub(super) fn read(
        table: &HashMap<MapData, [u32; 2], [u8; wire::CALL]>,
    ) -> Result<Self, ProbeError> {
        let mut calls = Self::default();
        for found in table.iter() {
            let ([tid, number], bytes) = found.map_err(|e| refused("read a table", e))?;
            let mut r = Reader(&bytes);
            let (count, asleep, samples) = (r.u64(), r.u64(), r.u64());
            let time = samples.saturating_mul(SAMPLED.every_ns) / 1_000 + asleep / 1_000;
            let call = calls.0.entry((tid, Call::of(number))).or_default();
            (call.count, call.asleep_us, call.time_us) =
                (count, Micros(asleep / 1_000), Micros(time));
        }
        Ok(calls)
    }

    /// Those of some threads together, by name.
    pub(super) fn of_threads(&self, wanted: impl Fn(u32) -> bool) -> BTreeMap<String, CallTotal> {
        let mut calls: BTreeMap<String, CallTotal> = BTreeMap::new();
        for ((tid, call), total) in &self.0 {
            if *call != Call::PageFault && wanted(*tid) {
                let sum = calls.entry(call.to_string()).or_default();
                sum.count += total.count;
                sum.time_us.0 += total.time_us.0;
                sum.asleep_us.0 += total.asleep_us.0;
            }
        }
        calls
    }
}

/// What calls of one number moved.
#[derive(Debug, Default)]
pub(super) struct Moves {
    pub(super) calls: u64,
    pub(super) bytes: u64,
    /// How many moved so much ([`records::CallTotal::sizes`]).
    pub(super) sizes: BTreeMap<u64, u64>,
}

impl Moves {
    /// Bits of a size behind its first that are kept: 1 in 128 is under 1 %.
    const BITS: u32 = 7;

    /// Calls that followed each other on one descriptor: those that moved `bytes` together, and others.
    pub(super) fn add(&mut self, moved: u32, other: u32, bytes: u64) {
        self.calls += u64::from(moved) + u64::from(other);
        self.bytes += bytes;
        if let Some(mean) = bytes.checked_div(moved.into()) {
            let low = (u64::BITS - mean.leading_zeros()).saturating_sub(Self::BITS + 1);
            *self.sizes.entry(mean >> low << low).or_default() += u64::from(moved);
        }
    }

    /// Adds what calls of this number moved to their totals.
    pub(super) fn fill(&self, number: u32, calls: &mut BTreeMap<String, CallTotal>) {
        let call = calls.entry(Call::of(number).to_string()).or_default();
        (call.count, call.bytes) = (self.calls, Bytes(self.bytes));
        call.sizes.clone_from(&self.sizes);
    }
}
