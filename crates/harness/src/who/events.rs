//! What is told in lines of JSON: each hold, what became of processes, at the end the summary.

use std::collections::BTreeMap;

use records::{Micros, StepHistogram};
use serde::Serialize;

use super::convoy::Convoy;
use super::ledger::{Holds, Kind, Ledger, Queue, Told};
use super::processes::Change;

/// One line.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Event {
    /// A hold was seen, or has ended.
    Hold(Told),
    /// Something became of a process.
    Process(Change),
    /// The last line.
    Summary(Summary),
}

/// All that was seen.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Summary {
    watched_us: Micros,
    threshold_us: Micros,
    workers: Vec<WorkerRow>,
    /// Connections that held, those with the most time first.
    holders: Vec<Holds>,
    queues: Vec<QueueRow>,
    /// Holds that did not fit into the kernel's ring.
    lost: u64,
}

#[derive(Clone, Debug, Serialize)]
struct WorkerRow {
    pid: u32,
    tid: u32,
    comm: String,
    /// Time in turns, and their lengths.
    turns_us: Micros,
    turn_lengths: StepHistogram,
    holds: BTreeMap<Kind, u64>,
    held_us: Micros,
    longest_us: Micros,
    convoys: u64,
    longest_convoy: Option<Convoy>,
}

#[derive(Clone, Debug, Serialize)]
struct QueueRow {
    listener: String,
    #[serde(flatten)]
    queue: Queue,
}

impl Summary {
    pub(super) fn of(ledger: &Ledger) -> Self {
        let workers = ledger.workers.iter().map(|(&(pid, tid), worker)| WorkerRow {
            pid,
            tid,
            comm: worker.comm.clone(),
            turns_us: worker.turns.as_ref().map_or(Micros(0), |turns| turns.total),
            turn_lengths: worker
                .turns
                .as_ref()
                .map_or_else(Default::default, |turns| turns.lengths.clone()),
            holds: worker.holds.clone(),
            held_us: worker.held,
            longest_us: worker.longest,
            convoys: worker.convoys.count,
            longest_convoy: worker.convoys.longest(),
        });
        let queues = ledger
            .queues
            .values()
            .map(|queue| QueueRow { listener: ledger.own(queue.listener), queue: queue.clone() });
        Self {
            watched_us: ledger.watched().into(),
            threshold_us: ledger.threshold,
            workers: workers.collect(),
            holders: ledger.holders(),
            queues: queues.collect(),
            lost: ledger.lost,
        }
    }
}
