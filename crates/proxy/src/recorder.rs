//! What a worker has to tell, on its way out of the worker: a bounded ring without locks.
//!
//! Invariant: telling never blocks and never allocates. What does not fit is counted, and the count
//! leaves with the next [`records::WorkerTotals`].

use std::net::IpAddr;

use records::{Accepted, Hold, LoopTurn, Micros, MonoNs, Session, StepHistogram, WorkerTotals};
use rtrb::{Consumer, Producer, RingBuffer};

/// Records a ring holds: a second of 4,000 sessions with 4 records each. 2 MiB a worker.
const RING_RECORDS: usize = 16_384;

/// One thing a worker tells.
#[derive(Debug)]
pub(crate) enum Told {
    Accepted(Accepted),
    Session(Box<Ended>),
    Hold(Hold),
    LoopTurn(LoopTurn),
    Totals(Box<WorkerTotals>),
}

/// A session that ended, with the one thing the access log knows beyond its record.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) client: IpAddr,
    pub(crate) record: Session,
}

/// The worker's end of the ring, and its running totals.
pub(crate) struct Recorder {
    ring: Producer<Told>,
    totals: WorkerTotals,
    lengths: [u64; StepHistogram::BUCKETS],
    hold: Micros,
}

impl Recorder {
    /// A recorder for `worker` and the end from which its records are taken.
    /// Steps and loop turns of at least `hold` are told one by one.
    pub(crate) fn new(worker: u32, hold: Micros) -> (Self, Consumer<Told>) {
        let (ring, out) = RingBuffer::new(RING_RECORDS);
        let totals = WorkerTotals { worker, ..WorkerTotals::default() };
        (Self { ring, totals, lengths: [0; StepHistogram::BUCKETS], hold }, out)
    }

    pub(crate) fn accepted(&mut self, accepted: Accepted) {
        self.totals.sessions += 1;
        self.tell(Told::Accepted(accepted));
    }

    pub(crate) fn session(&mut self, client: IpAddr, record: Session) {
        self.tell(Told::Session(Box::new(Ended { client, record })));
    }

    /// Counts a step and tells it when it was a hold.
    pub(crate) fn step(&mut self, step: Hold) {
        let length = step.length_us();
        self.totals.steps += 1;
        self.totals.reads += step.reads;
        self.totals.bytes += step.bytes;
        if let Some(count) = self.lengths.get_mut(StepHistogram::bucket(length)) {
            *count += 1;
        }
        if length > self.totals.longest_step_us {
            self.totals.longest_step_us = length;
            self.totals.longest_step_bytes = step.bytes;
        }
        if length >= self.hold {
            self.tell(Told::Hold(step));
        }
    }

    /// Counts a loop turn and tells it when it was as long as a hold.
    pub(crate) fn loop_turn(&mut self, turn: LoopTurn) {
        let length = turn.end_ns.micros_since(turn.start_ns);
        self.totals.turns = turn.turn;
        self.totals.longest_turn_us = self.totals.longest_turn_us.max(length);
        if length >= self.hold {
            self.tell(Told::LoopTurn(turn));
        }
    }

    pub(crate) fn accept_paused(&mut self) {
        self.totals.accept_pauses += 1;
    }

    /// Tells the totals so far.
    pub(crate) fn totals(&mut self, now: MonoNs) {
        self.totals.at_ns = now;
        self.totals.step_lengths = StepHistogram(self.lengths.to_vec());
        self.tell(Told::Totals(Box::new(self.totals.clone())));
    }

    fn tell(&mut self, told: Told) {
        if self.ring.push(told).is_err() {
            self.totals.records_lost += 1;
        }
    }
}
