//! What became of every fetch, late or not: for those who draw it.

use records::{Cause, Holder, Micros};

use super::ground::Ground;
use super::split::split;
use crate::run_dir::RunRecords;
use crate::summarise::join::Join;

/// What became of one fetch.
#[derive(Clone, Debug, PartialEq)]
pub struct Fate {
    /// Its position among the records' fetches.
    pub fetch: usize,
    /// The worker that owned it, as far as known.
    pub worker: Option<u32>,
    /// Steps of others that it waited in, by position among the records' holds, and for how long.
    pub held: Vec<(usize, Micros)>,
    /// Its time by cause; causes without a part are left out.
    pub causes: Vec<(Cause, Micros)>,
}

/// The fates of all fetches, and whose step each hold was.
pub fn fates(records: &RunRecords) -> (Vec<Fate>, Vec<Option<Holder>>) {
    let join = Join::of(records);
    let ground = Ground::of(records, &join);
    let fate = |fetch: usize| {
        let split = split(&ground, fetch)?;
        let cause = |cause: Cause| {
            let part = split.shares.of(cause);
            (!part.is_zero()).then(|| (cause, part.into()))
        };
        Some(Fate {
            fetch,
            worker: split.worker,
            held: split.held.iter().map(|(hold, waited)| (*hold, (*waited).into())).collect(),
            causes: Cause::ALL.into_iter().filter_map(cause).collect(),
        })
    };
    let fates = (0..records.fetches.len()).filter_map(fate).collect();
    (fates, (0..records.holds.len()).map(|hold| ground.holder(hold)).collect())
}

#[cfg(test)]
mod tests;
