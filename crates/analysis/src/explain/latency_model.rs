//! The latency model: a fetch takes the loop turns it needs, a turn takes as long as the downloads of its worker
//! need for a step each, and the fetch's own bytes are moved in them.
//!
//! `docs/model.md` derives it and says where it ends.

use std::collections::BTreeSet;

use records::{Bytes, BytesPerSec, Law, Micros, Phase, RunRecords};

use crate::figures::slow;
use crate::join::Join;
use crate::window::{Window, Windows};

/// Loop turns that a proxied request needs before its body flows: accept; read and connect; send;
/// read the head.
const TURNS_TO_HEAD: f64 = 4.0;

/// What the model says of a run's fetches. `None` without downloads, where no steps are known, and for
/// read policies under which a step has no bound.
pub(crate) fn latency_model(
    records: &RunRecords,
    join: &Join<'_>,
    windows: &Windows,
    measured_us: Micros,
) -> Option<Law> {
    let measure = windows.measure?;
    if !records.manifest.arm.proxy.read_policy.is_bounded() {
        return None;
    }
    let holding = holding(join, measure);
    let workers: BTreeSet<u32> = holding.iter().map(|(w, _)| *w).collect();
    let bytes_per_step = slow::bytes_per_step(join)?;
    if workers.is_empty() {
        return None;
    }
    let drain_rate = drain_rate(records, measure, &workers)?;
    let downloads_per_worker = holding.len() as f64 / workers.len() as f64;
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

/// Worker and slot of every download held in `measure`.
fn holding(join: &Join<'_>, measure: Window) -> BTreeSet<(u32, u32)> {
    join.transfers
        .iter()
        .enumerate()
        .filter(|(_, transfer)| transfer.open_in(measure))
        .filter_map(|(index, transfer)| Some((join.transfer(index)?.worker, transfer.slot)))
        .collect()
}

/// Bytes per second of busy time of one worker that holds downloads.
fn drain_rate(records: &RunRecords, measure: Window, workers: &BTreeSet<u32>) -> Option<f64> {
    let downloads: Bytes = records
        .intervals
        .iter()
        .map(|interval| {
            let span = Window::new(interval.start_ns, interval.end_ns);
            interval.bytes.iter().map(|bytes| measure.share_of(*bytes, span)).sum()
        })
        .sum();
    let fetches: Bytes = records
        .fetches
        .iter()
        .filter(|fetch| fetch.phase == Phase::Measure)
        .map(|fetch| fetch.bytes)
        .sum();
    let busy: f64 = records
        .stretches
        .iter()
        .filter(|stretch| workers.contains(&stretch.worker))
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
