//! What a worker has to tell, on its way out of the worker: a bounded ring without locks.
//!
//! Invariants:
//! - Telling never blocks, and allocates only where more is on its way than ever was before. What does
//!   not fit is counted beside the ring: the count leaves with the next [`records::WorkerTotals`], and if
//!   that is itself lost, whoever empties the ring still finds it ([`RingReader`]).
//! - What a worker has allocated it frees. Whoever empties the ring hands back what came out of it
//!   ([`RingReader::give_back`]): freed there, it would take the lock of the worker's part of the
//!   heap (an arena, in glibc), and the worker would wait for it.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use net::clock::thread_cpu;
use records::{
    Accepted, Hold, LoopTurn, Micros, MonoNs, Record, Recording, Session, Stretch, StretchSink,
    Stretches, WorkerTotals,
};
use rtrb::{Consumer, Producer, RingBuffer};

/// Records a ring holds. The busiest second of a worker has 4,000 sessions with 2 records each, and some
/// 400 more: 200 stretches, and 100 holds of 10 ms with 100 loop turns around them. So a writer may be
/// late by nearly two of them.
const RING_RECORDS: usize = 16_384;

/// Records there can be: a new one is made where none is spare, so that all others are in the ring, but for
/// one in the hand of whoever empties it, and one that comes back meanwhile.
const SPARE: usize = RING_RECORDS + 3;

/// How often a worker that turns tells its totals.
const TOTALS_EVERY: Duration = Duration::from_secs(1);

/// One thing a worker tells, in memory that goes back to it.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) record: Record,
    /// Of a session: its client, the one thing the access log knows beyond its record.
    pub(crate) client: Option<IpAddr>,
}

/// The worker's end of the ring, and its running totals.
pub(crate) struct Recorder {
    ring: Ring,
    pub(crate) totals: WorkerTotals,
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
    told: Producer<Box<Told>>,
    /// What was handed back, to be filled anew.
    spare: Consumer<Box<Told>>,
    /// What did not fit. Written by the worker alone, and only where something is lost.
    lost: Arc<AtomicU64>,
}

/// The other end: what a worker told, and how much of it was lost.
#[derive(Debug)]
pub(crate) struct RingReader {
    told: Consumer<Box<Told>>,
    spare: Producer<Box<Told>>,
    lost: Arc<AtomicU64>,
    /// The totals that came out last.
    last: WorkerTotals,
}

impl RingReader {
    /// The next thing told, if there is one.
    pub(crate) fn pop(&mut self) -> Option<Box<Told>> {
        let told = self.told.pop().ok()?;
        if let Record::WorkerTotals(totals) = &told.record {
            self.last.clone_from(totals);
        }
        Some(told)
    }

    /// Hands back what came out.
    pub(crate) fn give_back(&mut self, told: Box<Told>) {
        // There is room for all there are, see `SPARE`: nothing is freed here.
        let _ = self.spare.push(told);
    }

    /// The last totals once more, as of `now`, when more was lost than they say: those that would have
    /// said so were themselves lost. To be asked when the worker is done and the ring is empty.
    pub(crate) fn amended(&self, now: MonoNs) -> Option<WorkerTotals> {
        let records_lost = self.lost.load(Ordering::Relaxed);
        (records_lost > self.last.records_lost).then(|| WorkerTotals {
            records_lost,
            at_ns: now.max(self.last.at_ns),
            ..self.last.clone()
        })
    }
}

impl Recorder {
    /// A recorder for `worker`, which begins `now`, and the end from which its records are taken. To be made
    /// on the worker's own thread: its CPU time counts.
    /// Steps and loop turns of at least `hold` are told one by one in a full recording.
    pub(crate) fn new(
        worker: u32,
        hold: Micros,
        recording: Recording,
        now: MonoNs,
    ) -> (Self, RingReader) {
        let (told, out) = RingBuffer::new(RING_RECORDS);
        let (given_back, spare) = RingBuffer::new(SPARE);
        let lost = Arc::new(AtomicU64::new(0));
        let last = WorkerTotals { worker, ..WorkerTotals::default() };
        let totals = WorkerTotals::of(worker);
        let full = match recording {
            Recording::Minimal => None,
            Recording::Full => Some(Full {
                hold,
                stretches: Stretches::begin(worker, now, thread_cpu()),
                totals_told: now,
            }),
        };
        let recorder = Self { ring: Ring { told, spare, lost: Arc::clone(&lost) }, totals, full };
        (recorder, RingReader { told: out, spare: given_back, lost, last })
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
        self.ring.push(Record::Accepted(accepted), None);
    }

    pub(crate) fn session(&mut self, client: IpAddr, record: Session) {
        self.ring.push(Record::Session(record), Some(client));
    }

    /// Counts a step and tells it when it was a hold.
    pub(crate) fn step(&mut self, step: Hold) {
        let length = step.length_us();
        self.totals.count_step(length, step.bytes, step.reads);
        let Some(full) = &mut self.full else { return };
        full.stretches.stepped();
        if length >= full.hold {
            self.ring.push(Record::Hold(step), None);
            full.stretches.end(step.end_ns, &mut self.ring);
        } else {
            full.stretches.end_if_long(step.end_ns, &mut self.ring);
        }
    }

    /// Counts a loop turn and tells it when it was as long as a hold; and the totals so far, from
    /// time to time.
    pub(crate) fn loop_turn(&mut self, turn: LoopTurn) {
        let length = self.totals.count_turn(&turn);
        let Some(full) = &mut self.full else { return };
        if length >= full.hold {
            self.ring.push(Record::LoopTurn(turn), None);
        }
        full.stretches.turned();
        full.stretches.end_if_long(turn.end_ns, &mut self.ring);
        if turn.end_ns.since(full.totals_told) >= TOTALS_EVERY {
            full.totals_told = turn.end_ns;
            self.tell_totals(turn.end_ns);
        }
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
        self.totals.records_lost = self.ring.lost.load(Ordering::Relaxed);
        self.ring.push(Record::WorkerTotals(self.totals.clone()), None);
    }
}

impl Ring {
    fn push(&mut self, record: Record, client: Option<IpAddr>) {
        let told = Told { record, client };
        let filled = match self.spare.pop() {
            Ok(mut spare) => {
                *spare = told;
                spare
            }
            Err(_) => Box::new(told),
        };
        if self.told.push(filled).is_err() {
            // One writer: no read-modify-write of the bus is needed.
            let lost = self.lost.load(Ordering::Relaxed);
            self.lost.store(lost.saturating_add(1), Ordering::Relaxed);
        }
    }
}

impl StretchSink for Ring {
    fn cpu(&mut self) -> Micros {
        thread_cpu()
    }

    fn tell(&mut self, stretch: Stretch) {
        self.push(Record::Stretch(stretch), None);
    }
}

#[cfg(test)]
mod tests;
