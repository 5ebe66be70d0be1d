//! What is drawn over time beside the lanes: downloads' throughput and queues.

use std::collections::BTreeMap;

use records::{DownloadInterval, ListenerSample, SocketEnd};

use super::Clock;
use crate::data::Series;
use crate::input::RunInput;

/// By download: what it got, as a rate that stands from the start to the end of each interval.
pub(super) fn throughput(run: &RunInput<'_>, clock: &Clock) -> Vec<Series> {
    let slots = run.intervals.iter().map(|interval| interval.bytes.len()).max().unwrap_or(0);
    let of = |slot: usize| {
        let rate = |interval: &DownloadInterval| {
            let length = interval.end_ns.since(interval.start_ns);
            interval.bytes.get(slot).map_or(0, |bytes| bytes.per(length).0)
        };
        let ends =
            |one: &DownloadInterval| [one.start_ns, one.end_ns].map(|at| (clock.us(at), rate(one)));
        Series {
            name: format!("download {slot}"),
            slot: u32::try_from(slot).ok(),
            points: run.intervals.iter().flat_map(ends).collect(),
            limit: None,
        }
    };
    (0..slots).map(of).collect()
}

/// By listener, in the order of workers.
pub(super) fn accept_queues(run: &RunInput<'_>, clock: &Clock) -> Vec<Series> {
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
        Series {
            name,
            slot: None,
            points: samples.iter().map(|one| (clock.us(one.at_ns), u64::from(one.queue))).collect(),
            limit: samples.last().map(|sample| u64::from(sample.limit)),
        }
    };
    inodes.into_iter().map(series).collect()
}

/// By download: what lay in the proxy's socket towards the origin, to be read.
pub(super) fn receive_queues(run: &RunInput<'_>, clock: &Clock) -> Vec<Series> {
    let slots: BTreeMap<u16, u32> =
        run.dialed.iter().map(|dialed| (dialed.client_port, dialed.slot)).collect();
    let upstream: BTreeMap<u16, u32> = run
        .sessions
        .iter()
        .filter_map(|session| Some((session.upstream_port?, *slots.get(&session.client_port)?)))
        .collect();
    let mut by_slot: BTreeMap<u32, Series> = BTreeMap::new();
    let samples = run.sockets.iter().filter(|sample| sample.end == SocketEnd::Upstream);
    for sample in samples {
        let Some(&slot) = upstream.get(&sample.port) else { continue };
        let series = by_slot.entry(slot).or_insert_with(|| Series {
            name: format!("download {slot}"),
            slot: Some(slot),
            ..Series::default()
        });
        series.points.push((clock.us(sample.at_ns), sample.receive_queue.0));
    }
    by_slot.into_values().collect()
}
