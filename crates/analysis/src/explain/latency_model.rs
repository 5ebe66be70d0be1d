//! The latency model: a fetch takes the loop turns it needs, a turn takes as long as the downloads of its worker
//! need for a step each, and the fetch's own bytes are moved in them.
//!
//! `docs/internals/model.md` derives it and says where it ends.

use std::collections::{BTreeMap, BTreeSet};

use records::{Bytes, BytesPerSec, Law, Micros, Phase, RunRecords, SlowSummary};

use crate::window::Window;

/// Loop turns that a proxied request needs before its body flows: accept; read and connect; send;
/// read the head.
const TURNS_TO_HEAD: f64 = 4.0;

/// What the model says of a run's fetches, whose downloads did this and were held by these workers in
/// `measure`. `None` without downloads, where no steps are known, and for read policies under which a
/// step has no bound.
pub(crate) fn latency_model(
    records: &RunRecords,
    measure: Window,
    holders: &BTreeMap<u32, BTreeSet<u32>>,
    slow: &SlowSummary,
    measured_us: Micros,
) -> Option<Law> {
    let bounded = records.manifest.arm.proxy.read_policy.is_bounded();
    let bytes_per_step = slow.bytes_per_step.filter(|_| bounded && !holders.is_empty())?;
    let drain_rate = drain_rate(records, measure, holders, slow.bytes)?;
    let held: usize = holders.values().map(BTreeSet::len).sum();
    let downloads_per_worker = held as f64 / holders.len() as f64;
    let fetch_bytes = records.manifest.arm.fetch.fetch_size;
    let turns = turns(fetch_bytes, bytes_per_step);
    let of_downloads = turns * downloads_per_worker * bytes_per_step.0 as f64;
    let secs = (of_downloads + fetch_bytes.0 as f64) / drain_rate;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "above zero")]
    let (predicted, rate) = ((secs * 1e6) as u64, drain_rate as u64);
    Some(Law {
        turns,
        downloads_per_worker,
        bytes_per_step,
        fetch_bytes,
        drain_rate: BytesPerSec(rate),
        predicted_us: Micros(predicted),
        measured_us,
    })
}

/// Turns until the head, and one for each step's worth of body.
fn turns(fetch: Bytes, bytes_per_step: Bytes) -> f64 {
    TURNS_TO_HEAD + (fetch.0 as f64 / bytes_per_step.0 as f64).max(1.0)
}

/// Bytes per second of busy time of one worker that holds downloads.
fn drain_rate(
    records: &RunRecords,
    measure: Window,
    holders: &BTreeMap<u32, BTreeSet<u32>>,
    downloads: Bytes,
) -> Option<f64> {
    let fetches: Bytes = records
        .fetches
        .iter()
        .filter(|fetch| fetch.phase == Phase::Measure)
        .map(|fetch| fetch.bytes)
        .sum();
    let busy: f64 = records
        .stretches
        .iter()
        .filter(|stretch| holders.contains_key(&stretch.worker))
        .map(|stretch| {
            let window = Window::new(stretch.start_ns, stretch.end_ns);
            let inside = window.clip(measure).length().as_secs_f64();
            let length = window.length().as_secs_f64();
            let busy = length - stretch.poll_us.as_secs();
            if length > 0.0 { inside * (busy / length).clamp(0.0, 1.0) } else { 0.0 }
        })
        .sum();
    (busy > 0.0).then(|| (downloads + fetches).0 as f64 / busy).filter(|rate| *rate > 0.0)
}

#[cfg(test)]
mod tests;
