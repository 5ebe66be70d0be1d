//! Time cut into slices of equal length: how much of each the threads of a worker ran, waited for a CPU
//! or slept uninterruptibly, and for whom they ran.

use std::collections::{BTreeMap, BTreeSet};

use records::{MonoNs, Record, Served, Threads};

use crate::target::Take;
use crate::wire::micros;

/// Length of a slice, ns: a part of what makes a fetch late on any host, and a hundred records a second.
const SLICE: u64 = 10_000_000;

/// So many connections of a slice are told.
const TOLD: usize = 4;

/// See the module's head: of one worker.
#[derive(Debug, Default)]
pub(super) struct Slices(BTreeMap<u64, Slice>);

/// Times in ns.
#[derive(Debug, Default)]
struct Slice {
    run: u64,
    /// By thread.
    wait: BTreeMap<u32, u64>,
    deep: u64,
    threads: BTreeSet<u32>,
    served: BTreeMap<u16, u64>,
}

/// What one thread did for a while: it ran, waited for a CPU and slept uninterruptibly, all over it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Busy {
    pub(super) tid: u32,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) run: u64,
    pub(super) wait: u64,
    pub(super) deep: u64,
    pub(super) client_port: Option<u16>,
}

impl Slices {
    /// Takes in what a thread did.
    pub(super) fn add(&mut self, busy: Busy) {
        let Busy { tid, from, to, run, wait, deep, client_port } = busy;
        let length = to.saturating_sub(from);
        let run = run.min(length);
        let wait = wait.min(length - run);
        let deep = deep.min(length - run - wait);
        if run + wait + deep == 0 {
            return;
        }
        for slice in from / SLICE..=(to - 1) / SLICE {
            let end = (slice + 1) * SLICE;
            let part = end.min(to) - (end - SLICE).max(from);
            let of = |time| scaled(time, part, length);
            let slice = self.0.entry(slice).or_default();
            slice.run += of(run);
            if wait > 0 {
                *slice.wait.entry(tid).or_default() += of(wait);
            }
            slice.deep += of(deep);
            if run > 0 {
                slice.threads.insert(tid);
            }
            if let Some(port) = client_port {
                *slice.served.entry(port).or_default() += of(run);
            }
        }
    }

    /// Tells all of `worker`, which was watched from `start` to `end`; of those `beside` the work not what
    /// they waited for a CPU.
    pub(super) fn tell(
        self,
        worker: u32,
        (start, end): (MonoNs, MonoNs),
        beside: &BTreeSet<u32>,
        take: Take<'_>,
    ) {
        let mut at = start;
        let mut tell = |until: MonoNs, slice: Slice| {
            let until = until.min(end);
            if until <= at {
                return;
            }
            let mut served: Vec<Served> = slice
                .served
                .into_iter()
                .map(|(client_port, run)| Served { client_port, run_us: micros(run) })
                .collect();
            served.sort_by_key(|of| (std::cmp::Reverse(of.run_us), of.client_port));
            served.truncate(TOLD);
            let waited = slice.wait.iter().filter(|(tid, _)| !beside.contains(tid));
            take(Record::Threads(Threads {
                worker,
                start_ns: at,
                end_ns: until,
                ran: u32::try_from(slice.threads.len()).unwrap_or(u32::MAX),
                run_us: micros(slice.run),
                wait_us: micros(waited.map(|(_, wait)| wait).sum()),
                blocked_us: micros(slice.deep),
                served,
            }));
            at = until;
        };
        for (number, slice) in self.0 {
            // Nobody ran until then.
            tell(MonoNs(number * SLICE), Slice::default());
            tell(MonoNs((number + 1) * SLICE), slice);
        }
        tell(end, Slice::default());
    }
}

/// `time` times `part` of `whole`.
pub(super) fn scaled(time: u64, part: u64, whole: u64) -> u64 {
    let scaled = u128::from(time) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(scaled).unwrap_or(time)
}

#[cfg(test)]
mod tests;
