//! The downloads in figures: what moved in the measure phase, who held them, and how long a fetch beside
//! them should have taken.
//!
//! The latency model: a fetch takes the loop turns it needs, a turn takes as long as the downloads of its
//! worker need for a step each, and the fetch's own bytes are moved in them. `docs/internals/model.md` derives it and
//! says where it ends.

use std::collections::{BTreeMap, BTreeSet};

use records::{
    Bytes, BytesPerSec, DownloadEnd, Law, Micros, MonoNs, Phase, RunRecords, SlowSummary,
};

use crate::join::Join;
use crate::window::{Window, Windows};

/// The downloads over the measure phase; ends over the whole run.
pub(crate) fn summary(
    records: &RunRecords,
    windows: &Windows,
    holders: &BTreeMap<u32, BTreeSet<u32>>,
    join: &Join<'_>,
) -> SlowSummary {
    let slots = slot_bytes(records, windows);
    let length = windows.measure.map(Window::length).unwrap_or_default();
    let bytes: Bytes = slots.iter().copied().sum();
    let rates: Vec<_> = slots.iter().map(|bytes| bytes.per(length)).collect();
    let completed = records.downloads.iter().filter(|one| one.end == DownloadEnd::Completed);
    let mut completed_us: Vec<Micros> = completed.map(|download| download.total_us).collect();
    completed_us.sort_unstable();
    let wanted_until = windows.loaded.map_or(windows.run.end, |loaded| loaded.end);
    SlowSummary {
        downloads: u64::from(records.manifest.arm.load.slow),
        bytes,
        bytes_per_sec: bytes.per(length),
        completed: completed_us.len() as u64,
        broken: broken(records, |ended| ended <= wanted_until),
        slowest_slot: rates.iter().copied().min().unwrap_or_default(),
        fastest_slot: rates.iter().copied().max().unwrap_or_default(),
        slot_bytes_per_sec: rates,
        completed_us,
        workers_holding: holders.len() as u64,
        bytes_per_step: bytes_per_step(join),
    }
}

/// What one step of a download moved, over whole sessions; `None` where no steps are seen, or the
/// downloads never moved.
fn bytes_per_step(join: &Join<'_>) -> Option<Bytes> {
    let sessions = (0..join.transfers.len()).filter_map(|index| join.transfer(index)?.session);
    let (bytes, steps) = sessions.fold((Bytes(0), 0_u64), |(bytes, steps), session| {
        (bytes + session.body_bytes, steps.saturating_add(session.steps))
    });
    bytes.0.checked_div(steps).filter(|mean| *mean > 0).map(Bytes)
}

/// Bytes of each slot in the measure phase; intervals at its edges count in part.
fn slot_bytes(records: &RunRecords, windows: &Windows) -> Vec<Bytes> {
    let told = records.intervals.iter().map(|interval| interval.bytes.len()).max().unwrap_or(0);
    let wanted = usize::try_from(records.manifest.arm.load.slow).unwrap_or(usize::MAX);
    // A slot that the client never told of has moved nothing; a bound keeps a wrong manifest small.
    let mut slots = vec![Bytes(0); told.max(wanted.min(1 << 20))];
    let Some(measure) = windows.measure else { return slots };
    for interval in &records.intervals {
        let span = Window::new(interval.start_ns, interval.end_ns);
        for (slot, bytes) in slots.iter_mut().zip(&interval.bytes) {
            *slot += measure.share_of(*bytes, span);
        }
    }
    slots
}

/// Downloads that ended otherwise than the trial wanted, at such a time.
pub(crate) fn broken(records: &RunRecords, counts: impl Fn(MonoNs) -> bool) -> u64 {
    const WANTED: [DownloadEnd; 3] =
        [DownloadEnd::Completed, DownloadEnd::Stopped, DownloadEnd::Replaced];
    let broken = records.downloads.iter().filter(|one| !WANTED.contains(&one.end));
    broken.filter(|one| counts(one.start_ns + one.total_us.as_duration())).count() as u64
}

/// Times in `measure` without a byte for any download.
pub(crate) fn still(records: &RunRecords, measure: Window) -> Vec<Micros> {
    let mut moved: Vec<Window> = records
        .intervals
        .iter()
        .filter(|interval| interval.bytes.iter().any(|bytes| bytes.0 > 0))
        .map(|interval| Window::new(interval.start_ns, interval.end_ns).clip(measure))
        .collect();
    moved.sort_unstable_by_key(|span| (span.start, span.end));
    let mut still = Vec::new();
    let mut until = measure.start;
    for span in moved.into_iter().chain([Window::new(measure.end, measure.end)]) {
        if span.start > until {
            still.push(span.start.micros_since(until));
        }
        until = until.max(span.end);
    }
    still
}

/// Whether the download in `slot` received anything in a part of `window`.
pub(crate) fn moved_in(records: &RunRecords, slot: u32, window: Window) -> bool {
    let slot = usize::try_from(slot).unwrap_or(usize::MAX);
    records.intervals.iter().any(|interval| {
        interval.bytes.get(slot).is_some_and(|bytes| bytes.0 > 0)
            && window.overlaps(Window::new(interval.start_ns, interval.end_ns))
    })
}

/// Downloads that this host had nothing left to dial with.
pub(crate) fn undialled(records: &RunRecords) -> u64 {
    let ends = records.downloads.iter().map(|download| download.end);
    ends.filter(|end| *end == DownloadEnd::LocalError).count() as u64
}

/// Which slots each worker held while fetches were measured; workers that held none are absent.
pub(crate) fn holders(join: &Join<'_>, windows: &Windows) -> BTreeMap<u32, BTreeSet<u32>> {
    let mut holders: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let Some(measure) = windows.measure else { return holders };
    for (index, transfer) in join.transfers.iter().enumerate() {
        if let Some(connection) = join.transfer(index).filter(|_| transfer.open_in(measure)) {
            holders.entry(connection.worker).or_default().insert(transfer.slot);
        }
    }
    holders
}

/// Slots that were wanted but never received a byte.
///
/// Not over the measure phase alone: there, a slot may get nothing because another download holds
/// its worker, which is what is being measured.
pub(crate) fn never_moved(records: &RunRecords) -> Vec<u32> {
    let mut moved = BTreeSet::new();
    for interval in &records.intervals {
        let slots = (0_u32..).zip(&interval.bytes);
        moved.extend(slots.filter(|(_, bytes)| bytes.0 > 0).map(|(slot, _)| slot));
    }
    let with_bytes = records.downloads.iter().filter(|download| download.bytes.0 > 0);
    moved.extend(with_bytes.map(|download| download.slot));
    (0..records.manifest.arm.load.slow.min(1 << 20)).filter(|slot| !moved.contains(slot)).collect()
}

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
    // Turns until the head, and one for each step's worth of body.
    let turns = TURNS_TO_HEAD + (fetch_bytes.0 as f64 / bytes_per_step.0 as f64).max(1.0);
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

/// Bytes per second of busy time of one worker that holds downloads.
fn drain_rate(
    records: &RunRecords,
    measure: Window,
    holders: &BTreeMap<u32, BTreeSet<u32>>,
    downloads: Bytes,
) -> Option<f64> {
    let measured = records.fetches.iter().filter(|fetch| fetch.phase == Phase::Measure);
    let fetches: Bytes = measured.map(|fetch| fetch.bytes).sum();
    let told = records.stretches.iter().filter(|told| holders.contains_key(&told.worker));
    let busy = told.map(|stretch| {
        let window = Window::new(stretch.start_ns, stretch.end_ns);
        let inside = window.clip(measure).length().as_secs_f64();
        let length = window.length().as_secs_f64();
        let busy = length - stretch.poll_us.as_secs();
        if length > 0.0 { inside * (busy / length).clamp(0.0, 1.0) } else { 0.0 }
    });
    let busy: f64 = busy.sum();
    (busy > 0.0).then(|| (downloads + fetches).0 as f64 / busy).filter(|rate| *rate > 0.0)
}

#[cfg(test)]
mod tests;
