//! Looks at a server that never was: two workers behind one listener, for the tests of this module.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use net::sock_diag::AcceptQueue;
use probe::{CountedFrom, Hold, HoldState, Moved, Seen, Turns};
use records::{Bytes, Micros, MonoNs, StepHistogram};

use super::holder::Addresses;
use super::ledger::Ledger;
use super::queues::Look;

pub(super) const MASTER: u32 = 1230;
pub(super) const WORKER: u32 = 1235;
pub(super) const CLIENT: &str = "10.0.0.7:51234";
const LISTENER: u64 = 77;

pub(super) fn addr(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

/// So many milliseconds after the watch began.
pub(super) fn at(ms: u64) -> MonoNs {
    MonoNs(1_000_000_000 + ms * 1_000_000)
}

/// A hold of the worker that began then, all of it on its CPU: a download.
pub(super) fn hold(began: u64, ms: u64, state: HoldState) -> Hold {
    let moved = |local, remote, read, written| Moved {
        local: addr(local),
        remote: addr(remote),
        read: Bytes::mib(read),
        written: Bytes::mib(written),
    };
    Hold {
        pid: WORKER,
        tid: WORKER,
        comm: "nginx".to_owned(),
        began_ns: at(began),
        counted_from: CountedFrom::Poll,
        length_us: Micros(ms * 1_000),
        state,
        on_cpu_us: Micros(ms * 980),
        runnable_us: Micros(ms * 20),
        asleep_us: Micros(0),
        asleep_in: None,
        asked: None,
        moved: vec![
            moved("10.0.0.2:8080", CLIENT, 0, ms / 4),
            moved("10.0.0.2:40000", "10.0.1.3:80", ms / 4, 0),
        ],
        moved_elsewhere: Bytes(0),
        stacks: vec![],
    }
}

/// Turns of the worker so far: so many, each of this length.
pub(super) fn turns(count: u64, each: Micros) -> Turns {
    let mut lengths = vec![0; StepHistogram::BUCKETS];
    lengths[StepHistogram::bucket(each)] = count;
    let (comm, turn_lengths) = ("nginx".to_owned(), StepHistogram(lengths));
    Turns { pid: WORKER, tid: WORKER, comm, turns_us: Micros(count * each.0), turn_lengths }
}

/// A look in which the worker had made these turns.
pub(super) fn seen(ms: u64, turns: Turns, holds: Vec<Hold>) -> Seen {
    let (open, closed) = holds.into_iter().partition(|hold| hold.state == HoldState::Open);
    Seen { at: at(ms), open, closed, turns: vec![turns], lost: 0 }
}

/// So many connections in the queue of port 8080.
pub(super) fn waiting(queue: u32) -> Look {
    let addr = addr("0.0.0.0:8080");
    let of = [WORKER, MASTER].map(|pid| (pid, BTreeSet::from([LISTENER])));
    let listeners = vec![AcceptQueue { addr, inode: LISTENER, queue, limit: 511 }];
    Look { listeners, of: BTreeMap::from(of) }
}

pub(super) fn ledger() -> Ledger {
    Ledger::new(Micros(50_000), Addresses::Shown)
}

/// Turns of a millisecond, one each 2 ms.
pub(super) fn calm(ms: u64) -> Turns {
    turns(ms / 2, Micros(1_000))
}

/// Three seconds: a hold of 2.4 s of a download, while seven come to wait, one of 100 ms asleep in a
/// call, and another download's that still lasts.
pub(super) fn three_seconds() -> Ledger {
    let mut ledger = ledger();
    ledger.take(seen(0, calm(0), vec![]), &waiting(0));
    for (ms, waits) in [(200, 0), (400, 1), (2_400, 7)] {
        let open = hold(100, ms - 100, HoldState::Open);
        ledger.take(seen(ms, calm(100), vec![open]), &waiting(waits));
    }
    let closed = hold(100, 2_400, HoldState::Closed);
    let mut asleep = hold(2_550, 100, HoldState::Closed);
    (asleep.on_cpu_us, asleep.runnable_us, asleep.asleep_us) =
        (Micros(1_000), Micros(0), Micros(99_000));
    asleep.asleep_in = Some(probe::Call::PageFault);
    asleep.moved = Vec::new();
    ledger.take(seen(2_700, calm(300), vec![closed, asleep]), &waiting(0));
    let mut other = hold(2_800, 200, HoldState::Open);
    other.moved[0].remote = addr("10.0.0.9:40404");
    ledger.take(seen(3_000, calm(400), vec![other]), &waiting(2));
    ledger
}
