//! What a worker has to tell, on its way out of the worker: a bounded ring without locks.
//!
//! Invariant: telling never blocks, and allocates only where a session ends and once a second. What
//! does not fit is counted, and the count leaves with the next [`records::WorkerTotals`].

mod stretches;

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use records::{
    Accepted, Hold, LoopTurn, Micros, MonoNs, Recording, Session, StepHistogram, Stretch,
    WorkerTotals,
};
use rtrb::{Consumer, Producer, RingBuffer};
use rustix::time::{ClockId, clock_gettime};

use self::stretches::{Sink, Stretches};

/// Records a ring holds, 56 bytes each: 0.9 MiB a worker. The busiest second of a worker has 4,000
/// sessions with 2 records each, and some 400 more: 200 stretches, and 100 holds of 10 ms with 100
/// loop turns around them. So a writer may be late by nearly two of them.
const RING_RECORDS: usize = 16_384;

/// How often a worker that turns tells its totals.
const TOTALS_EVERY: Duration = Duration::from_secs(1);

/// One thing a worker tells.
#[derive(Debug)]
pub(crate) enum Told {
    Accepted(Accepted),
    Session(Box<Ended>),
    Hold(Hold),
    LoopTurn(LoopTurn),
    Stretch(Stretch),
    Totals(Box<WorkerTotals>),
    /// A line of the access log that the worker could not write.
    LineLost(io::Error),
}

/// A session that ended, with the one thing the access log knows beyond its record.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) client: IpAddr,
    pub(crate) record: Session,
}

/// The worker's end of the ring, and its running totals.
pub(crate) struct Recorder {
    ring: Ring,
    totals: WorkerTotals,
    lengths: [u64; StepHistogram::BUCKETS],
    /// `None`: [`Recording::Minimal`].
    full: Option<Full>,
}

/// What is told beyond the sessions and the last totals.
struct Full {
    /// Steps and loop turns of at least this length are told one by one.
    hold: Micros,
    stretches: Stretches,
    totals_told: MonoNs,
}

/// The way out.
struct Ring {
    told: Producer<Told>,
    lost: u64,
}

impl Recorder {
    /// A recorder for `worker` and the end from which its records are taken.
    /// Steps and loop turns of at least `hold` are told one by one in a full recording.
    pub(crate) fn new(worker: u32, hold: Micros, recording: Recording) -> (Self, Consumer<Told>) {
        let (told, out) = RingBuffer::new(RING_RECORDS);
        let full = match recording {
            Recording::Minimal => None,
            Recording::Full => Some(Full {
                hold,
                stretches: Stretches::begin(worker, MonoNs(0), Micros(0)),
                totals_told: MonoNs(0),
            }),
        };
        let recorder = Self {
            ring: Ring { told, lost: 0 },
            totals: WorkerTotals { worker, ..WorkerTotals::default() },
            lengths: [0; StepHistogram::BUCKETS],
            full,
        };
        (recorder, out)
    }

    /// The worker's first poll is called `now`. On the worker's own thread: its CPU time counts.
    pub(crate) fn begin(&mut self, now: MonoNs) {
        if let Some(full) = &mut self.full {
            full.stretches = Stretches::begin(self.totals.worker, now, thread_cpu());
            full.totals_told = now;
        }
    }

    /// A poll returned.
    pub(crate) fn polled(&mut self, called: MonoNs, returned: MonoNs) {
        if let Some(full) = &mut self.full {
            full.stretches.polled(called, returned, &mut self.ring);
        }
    }

    pub(crate) fn accepted(&mut self, accepted: Accepted) {
        self.totals.sessions += 1;
        if let Some(full) = &mut self.full {
            full.stretches.accepted();
        }
        self.ring.push(Told::Accepted(accepted));
    }

    pub(crate) fn session(&mut self, client: IpAddr, record: Session) {
        self.ring.push(Told::Session(Box::new(Ended { client, record })));
    }

    pub(crate) fn line_lost(&mut self, error: io::Error) {
        self.ring.push(Told::LineLost(error));
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
        let Some(full) = &mut self.full else { return };
        if length >= full.hold {
            self.ring.push(Told::Hold(step));
            full.stretches.held(step.end_ns, &mut self.ring);
        } else {
            full.stretches.stepped(step.end_ns, &mut self.ring);
        }
    }

    /// Counts a loop turn and tells it when it was as long as a hold; and the totals so far, from
    /// time to time.
    pub(crate) fn loop_turn(&mut self, turn: LoopTurn) {
        let length = turn.end_ns.micros_since(turn.start_ns);
        self.totals.turns = turn.turn;
        self.totals.longest_turn_us = self.totals.longest_turn_us.max(length);
        let Some(full) = &mut self.full else { return };
        if length >= full.hold {
            self.ring.push(Told::LoopTurn(turn));
        }
        full.stretches.turned(turn.end_ns, &mut self.ring);
        if turn.end_ns.since(full.totals_told) >= TOTALS_EVERY {
            full.totals_told = turn.end_ns;
            self.tell_totals(turn.end_ns);
        }
    }

    pub(crate) fn accept_paused(&mut self) {
        self.totals.accept_pauses += 1;
    }

    /// The poll named the listener, but nobody waited there.
    pub(crate) fn woken_for_nothing(&mut self) {
        self.totals.empty_wakeups += 1;
    }

    /// The worker is done: tells its last stretch and its totals.
    pub(crate) fn finish(&mut self, now: MonoNs) {
        if let Some(full) = &mut self.full {
            full.stretches.finish(now, &mut self.ring);
        }
        self.tell_totals(now);
    }

    fn tell_totals(&mut self, now: MonoNs) {
        self.totals.at_ns = now;
        self.totals.records_lost = self.ring.lost;
        self.totals.step_lengths = StepHistogram(self.lengths.to_vec());
        self.ring.push(Told::Totals(Box::new(self.totals.clone())));
    }
}

impl Ring {
    fn push(&mut self, told: Told) {
        if self.told.push(told).is_err() {
            self.lost += 1;
        }
    }
}

impl Sink for Ring {
    fn cpu(&mut self) -> Micros {
        thread_cpu()
    }

    fn tell(&mut self, stretch: Stretch) {
        self.push(Told::Stretch(stretch));
    }
}

/// CPU time of the calling thread so far: a system call (no vDSO has it).
fn thread_cpu() -> Micros {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let secs = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Micros(secs * 1_000_000 + nanos / 1_000)
}

#[cfg(test)]
mod tests;
