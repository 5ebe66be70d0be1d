//! What held a fetch, read off the picture: the steps of others that overlap it on its worker.
//!
//! A stand-in for an explanation, which knows more: whether the worker had a CPU, and when a fetch
//! was waiting for something else.

use std::collections::BTreeMap;

use records::{Hold, Micros, MonoNs};

use crate::gather::{Owners, end_of};
use crate::input::{Fate, Held, RunInput};

/// A fate for every fetch whose worker is known, by overlap alone; no causes.
pub fn overlaps(run: &RunInput<'_>) -> Vec<Fate> {
    let owners = Owners::new(run.accepted);
    let mut by_worker: BTreeMap<u32, Vec<(usize, &Hold)>> = BTreeMap::new();
    for (place, hold) in run.holds.iter().enumerate() {
        by_worker.entry(hold.worker).or_default().push((place, hold));
    }
    for holds in by_worker.values_mut() {
        holds.sort_by_key(|(_, hold)| hold.start_ns);
    }
    let fate = |(place, fetch): (usize, &records::Fetch)| {
        let worker = owners.of(fetch)?;
        let end = end_of(fetch);
        let holds = by_worker.get(&worker).map_or(&[][..], Vec::as_slice);
        // A worker does one step at a time: by start is by end.
        let first = holds.partition_point(|(_, hold)| hold.end_ns <= fetch.start_ns);
        let held = holds
            .iter()
            .skip(first)
            .take_while(|(_, hold)| hold.start_ns < end)
            .filter(|(_, hold)| Some(hold.client_port) != fetch.client_port)
            .map(|(at, hold)| Held { hold: *at, waited: common(hold, fetch.start_ns, end) })
            .collect();
        Some(Fate { fetch: place, worker: Some(worker), held, causes: Vec::new() })
    };
    run.fetches.iter().enumerate().filter_map(fate).collect()
}

fn common(hold: &Hold, start: MonoNs, end: MonoNs) -> Micros {
    hold.end_ns.min(end).micros_since(hold.start_ns.max(start))
}
