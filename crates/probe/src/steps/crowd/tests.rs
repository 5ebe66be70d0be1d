//! For whom a thread ran, by the bytes that it moved.

use super::*;

const MS: u64 = 1_000_000;
const PORT: u16 = 80;
const RECVFROM: u16 = 45;

/// An event of thread 2, at a time in ms, after as much on a CPU.
fn event(kind: u32, at: u64, a: u64, b: u64, rest: &[u8]) -> Event {
    let numbers = [at, at, 0, 0].map(|ms| ms * MS).into_iter().chain([a, b]);
    let slots = u32::try_from(rest.len() / 48).unwrap_or(0);
    let ends = [kind, 2].map(u32::to_ne_bytes);
    let tail = [0, slots].map(u32::to_ne_bytes);
    let middle = numbers.flat_map(u64::to_ne_bytes);
    let bytes: Vec<u8> = ends.into_iter().flatten().chain(middle).collect();
    Event::read(&[bytes.as_slice(), tail.as_flattened(), rest].concat())
}

/// The connection of a client, whose port this is and whose address in the kernel as well.
fn accepted(port: u16, at: u64) -> Event {
    let numbers = [PORT, port.to_be(), 2, 1].map(u16::to_ne_bytes);
    event(
        wire::ACCEPTED,
        at,
        port.into(),
        port.into(),
        &[&[0; 32], numbers.as_flattened()].concat(),
    )
}

/// One read of its request, in a slot.
fn read(port: u16, at: u64) -> Vec<u8> {
    let times = [u64::from(port), 100, at * MS, at * MS].map(u64::to_ne_bytes);
    let counts = [u32::from(port), 1, 0].map(u32::to_ne_bytes);
    let (call, class_in, tcp, came_bytes) = (RECVFROM.to_ne_bytes(), 3, 1, 1 << 4);
    let kind = [class_in | tcp << 4, came_bytes];
    [times.as_flattened(), counts.as_flattened(), &call, &kind].concat()
}

#[test]
fn what_was_computed_before_a_request_was_read_is_not_that_requests() {
    let target = Target { worker: 0, pid: 1, tid: 1 };
    let mut crowd = Crowd::new(&[target], Connections::new([PORT].into()), MonoNs(0));
    let mut told = Vec::new();
    let take: Take<'_> = &mut |record| told.push(record);
    let segment = |at, slots: &[u8]| event(1, at, 0, 0, slots);
    for event in [
        accepted(5_001, 0),
        accepted(5_002, 0),
        // It reads one request at 2 ms and the other at 8 ms, and tells of both at 10 ms.
        segment(10, &[read(5_001, 2), read(5_002, 8)].concat()),
        segment(20, &[]),
    ] {
        crowd.event(&event, take);
    }
    crowd.finish(MonoNs(20 * MS), 0, &CallCounts::default(), take);
    let threads = told.iter().filter_map(|record| match record {
        Record::Threads(threads) => Some(threads),
        _ => None,
    });
    let served: Vec<Vec<(u16, u64)>> = threads
        .map(|of| of.served.iter().map(|of| (of.client_port, of.run_us.0)).collect())
        .collect();
    assert_eq!(served, [vec![(5_001, 6_000), (5_002, 2_000)], vec![(5_002, 10_000)]]);
}
