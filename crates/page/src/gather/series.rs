//! What is drawn over time beside the lanes: downloads' throughput and queues.

use std::collections::BTreeMap;

use records::{ListenerSample, SocketEnd};

use super::Clock;
use crate::data::{QueueSeries, Throughput};
use crate::input::RunInput;

pub(super) fn throughput(run: &RunInput<'_>, clock: &Clock) -> Throughput {
    let slots = run.intervals.iter().map(|interval| interval.bytes.len()).max().unwrap_or(0);
    let mut series = Throughput { bytes_per_sec: vec![Vec::new(); slots], ..Throughput::default() };
    for interval in run.intervals {
        series.start_us.push(clock.us(interval.start_ns));
        series.end_us.push(clock.us(interval.end_ns));
        let length = interval.end_ns.since(interval.start_ns);
        for (slot, rates) in series.bytes_per_sec.iter_mut().enumerate() {
            rates.push(interval.bytes.get(slot).map_or(0, |bytes| bytes.per(length).0));
        }
    }
    series
}

/// By listener, in the order of workers.
pub(super) fn accept_queues(run: &RunInput<'_>, clock: &Clock) -> Vec<QueueSeries> {
    let mut by_inode: BTreeMap<u64, Vec<&ListenerSample>> = BTreeMap::new();
    for sample in run.listeners {
        by_inode.entry(sample.inode).or_default().push(sample);
    }
    let order = &run.manifest.listeners;
    let place = |inode: u64| order.iter().position(|known| *known == inode);
    let mut inodes: Vec<u64> = by_inode.keys().copied().collect();
    inodes.sort_by_key(|inode| (place(*inode).unwrap_or(usize::MAX), *inode));
    let shared = inodes.len() == 1;
    let series = |inode: u64| {
        let samples = by_inode.get(&inode).map_or(&[][..], Vec::as_slice);
        let worker = place(inode).and_then(|place| u32::try_from(place).ok());
        let name = match worker {
            _ if shared => "the listener of all workers".to_owned(),
            Some(worker) => format!("worker {worker}"),
            None => format!("listener {inode}"),
        };
        QueueSeries {
            name,
            slot: None,
            at_us: samples.iter().map(|sample| clock.us(sample.at_ns)).collect(),
            depth: samples.iter().map(|sample| u64::from(sample.queue)).collect(),
            limit: samples.last().map(|sample| u64::from(sample.limit)),
        }
    };
    inodes.into_iter().map(series).collect()
}

/// By download: what lay in the proxy's socket towards the origin, to be read.
pub(super) fn receive_queues(run: &RunInput<'_>, clock: &Clock) -> Vec<QueueSeries> {
    let slots: BTreeMap<u16, u32> =
        run.dialed.iter().map(|dialed| (dialed.client_port, dialed.slot)).collect();
    let upstream: BTreeMap<u16, u32> = run
        .sessions
        .iter()
        .filter_map(|session| Some((session.upstream_port?, *slots.get(&session.client_port)?)))
        .collect();
    let mut by_slot: BTreeMap<u32, QueueSeries> = BTreeMap::new();
    let samples = run.sockets.iter().filter(|sample| sample.end == SocketEnd::Upstream);
    for sample in samples {
        let Some(&slot) = upstream.get(&sample.port) else { continue };
        let series = by_slot.entry(slot).or_insert_with(|| QueueSeries {
            name: format!("download {slot}"),
            slot: Some(slot),
            ..QueueSeries::default()
        });
        series.at_us.push(clock.us(sample.at_ns));
        series.depth.push(sample.receive_queue.0);
    }
    by_slot.into_values().collect()
}
