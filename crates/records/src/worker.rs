//! What workers did, and for how long: holds, long loop turns, totals, and their whole life in stretches;
//! and a worker as the kernel's scheduler sees it.
//!
//! [`Stretches`] makes a worker's life of pieces without a gap, as the mirror and the probe tell it. It is
//! fed, in their order, with times that are known anyway, and hands each stretch that has ended to a
//! [`StretchSink`]; the thread's CPU clock, which costs the mirror a system call, is asked only then. All
//! else is a few additions and a comparison.
//!
//! Invariants:
//! - A stretch starts where the one before it ended; none ends before it starts.
//! - No stretch has more time in polls than it is long.
//! - Turns, steps and accepts each stand in exactly one stretch, and CPU time in exactly one.

use serde::{Deserialize, Serialize};
use strum::EnumMessage;

use crate::{Absence, Blocked, Bytes, Micros, MonoNs};

/// A step long enough to matter to others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Which worker, from 0.
    pub worker: u32,
    /// The loop turn it was in, counted from 1 within one worker.
    pub turn: u64,
    /// The session it served, by its number within the worker.
    pub session: u64,
    /// The client port of that session.
    pub client_port: u16,
    /// Start of the step.
    pub start_ns: MonoNs,
    /// End of the step.
    pub end_ns: MonoNs,
    /// Bytes read from the upstream in it.
    pub bytes: Bytes,
    /// Reads from the upstream that returned data.
    pub reads: u64,
    /// What ended it.
    pub ended_by: StepEnd,
}

/// What ended a step; with each the word that a sentence has for it: "ended by ...".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, EnumMessage)]
#[serde(rename_all = "snake_case")]
pub enum StepEnd {
    /// The upstream socket was empty: EAGAIN, or all was read that FIONREAD saw.
    #[strum(message = "EAGAIN from the upstream")]
    #[default]
    UpstreamEmpty,
    /// The client's socket was full (EAGAIN).
    #[strum(message = "EAGAIN from the client")]
    DownstreamFull,
    /// The client has sent nothing more yet (EAGAIN).
    #[strum(message = "waiting for the client")]
    DownstreamEmpty,
    /// The upstream could not take more of the request yet, or is not connected (EAGAIN).
    #[strum(message = "waiting to send upstream")]
    UpstreamFull,
    /// The read policy: a read shorter than the buffer.
    #[strum(message = "a short read")]
    ShortRead,
    /// The read policy: more was read than FIONREAD saw.
    #[strum(message = "FIONREAD's count")]
    Fionread,
    /// The read policy: its quota of bytes, reads or time.
    #[strum(message = "its quota")]
    Quota,
    /// The session ended.
    #[strum(message = "its end")]
    Closed,
    /// The worker went on to another session or to its poll; why, no record tells.
    #[strum(message = "nothing that was seen")]
    Unknown,
}

impl StepEnd {
    /// As a sentence has it: "ended by ...".
    pub fn words(self) -> &'static str {
        self.get_message().unwrap_or_default()
    }
}

/// A loop turn as long as a hold, whatever it consisted of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopTurn {
    /// Which worker, from 0.
    pub worker: u32,
    /// Counted from 1 within one worker.
    pub turn: u64,
    /// Return of the poll.
    pub start_ns: MonoNs,
    /// Next call of the poll.
    pub end_ns: MonoNs,
    /// Events the poll returned.
    pub events: u32,
    /// Steps in it.
    pub steps: u32,
    /// Connections accepted in it.
    pub accepts: u32,
}

/// Steps by length: `counts[i]` steps took from `2^(i-1)` up to `2^i` us; `counts[0]` under 1 us.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepHistogram(pub Vec<u64>);

impl StepHistogram {
    /// Buckets that hold every length up to 9 hours; longer ones count in the last.
    pub const BUCKETS: usize = 36;

    /// The bucket of a step of this length.
    pub fn bucket(length: Micros) -> usize {
        let bits = (u64::BITS - length.0.leading_zeros()) as usize;
        bits.min(Self::BUCKETS - 1)
    }
}

/// A worker's own count of its work since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerTotals {
    /// Which worker, from 0.
    pub worker: u32,
    /// When they were taken.
    pub at_ns: MonoNs,
    /// Sessions accepted.
    pub sessions: u64,
    /// Loop turns.
    pub turns: u64,
    /// Steps.
    pub steps: u64,
    /// Reads from upstreams that returned data.
    pub reads: u64,
    /// Bytes read from upstreams.
    pub bytes: Bytes,
    /// Longest step.
    pub longest_step_us: Micros,
    /// Bytes of the longest step.
    pub longest_step_bytes: Bytes,
    /// Longest loop turn.
    pub longest_turn_us: Micros,
    /// Times that a client was turned away because connections ran out, or that accepting stopped
    /// because descriptors or memory did.
    pub accept_pauses: u64,
    /// Times that it was woken for a connection which another worker had taken.
    #[serde(default)]
    pub empty_wakeups: u64,
    /// Records that did not fit into the ring and are lost.
    pub records_lost: u64,
    /// All steps by length.
    pub step_lengths: StepHistogram,
}

impl WorkerTotals {
    /// None of `worker` yet; nothing is allocated when more is counted.
    pub fn of(worker: u32) -> Self {
        let step_lengths = StepHistogram(vec![0; StepHistogram::BUCKETS]);
        Self { worker, step_lengths, ..Self::default() }
    }

    /// Counts a step of this length, which read so much from its upstream.
    pub fn count_step(&mut self, length: Micros, bytes: Bytes, reads: u64) {
        self.steps += 1;
        self.reads += reads;
        self.bytes += bytes;
        if let Some(count) = self.step_lengths.0.get_mut(StepHistogram::bucket(length)) {
            *count += 1;
        }
        if length > self.longest_step_us {
            (self.longest_step_us, self.longest_step_bytes) = (length, bytes);
        }
    }

    /// Counts a loop turn, and says how long it was.
    pub fn count_turn(&mut self, turn: &LoopTurn) -> Micros {
        let length = turn.length_us();
        self.turns = turn.turn;
        self.longest_turn_us = self.longest_turn_us.max(length);
        length
    }
}

/// A stretch of one worker's time. The stretches of a worker follow each other without a gap from
/// its first poll to its end; a gap means that a record was lost.
///
/// A stretch ends with the first loop turn, step or poll that makes it long enough to be told
/// (5 ms), and after every hold. A poll that is itself that long is a stretch of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// Which worker, from 0.
    pub worker: u32,
    /// Its start: the end of the stretch before.
    pub start_ns: MonoNs,
    /// Its end.
    pub end_ns: MonoNs,
    /// Time between calls of the poll and their returns: asleep, or ready without a CPU.
    pub poll_us: Micros,
    /// Time on a CPU (CLOCK_THREAD_CPUTIME_ID), polls included.
    pub cpu_us: Micros,
    /// Loop turns that ended in it.
    pub turns: u32,
    /// Steps in it.
    pub steps: u32,
    /// Connections accepted in it.
    pub accepts: u32,
}

/// Counters of one worker's thread since it started, from `/proc/<pid>/task/<tid>`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerSample {
    /// Which worker, from 0.
    pub worker: u32,
    /// When it was read.
    pub at_ns: MonoNs,
    /// User time, ms (`stat`, in clock ticks of 10 ms).
    pub user_ms: u64,
    /// System time, ms (`stat`).
    pub system_ms: u64,
    /// Time on a CPU, ns (`schedstat`, field 1); absent where the kernel hides it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run_ns: Option<u64>,
    /// Time ready to run without a CPU, ns (`schedstat`, field 2).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run_wait_ns: Option<u64>,
    /// Voluntary context switches (`status`).
    pub voluntary_switches: u64,
    /// Involuntary context switches (`status`).
    pub involuntary_switches: u64,
}

/// How long what is recorded with a start and an end took.
macro_rules! from_start_to_end {
    ($($record:ty),+) => {$(
        impl $record {
            /// Its length.
            pub const fn length_us(&self) -> Micros {
                self.end_ns.micros_since(self.start_ns)
            }
        }
    )+};
}

from_start_to_end!(Hold, LoopTurn, Stretch, Blocked, Absence);

/// A stretch of this length is told with the next thing that ends; so is a poll of this length, by
/// itself. Both in nanoseconds: 5 ms, which is 200 stretches a second of a busy worker.
const LONG_NS: u64 = 5_000_000;

/// Where stretches go, and where the CPU time comes from that they are told with.
pub trait StretchSink {
    /// CPU time of the worker's thread so far.
    fn cpu(&mut self) -> Micros;
    /// A stretch has ended.
    fn tell(&mut self, stretch: Stretch);
}

/// The stretch under way.
#[derive(Clone, Debug)]
pub struct Stretches {
    worker: u32,
    start: MonoNs,
    poll_ns: u64,
    turns: u32,
    steps: u32,
    accepts: u32,
    /// The thread's CPU time as of `start`.
    cpu: Micros,
}

impl Stretches {
    /// The first stretch begins `now`, at which the thread has used `cpu`.
    pub const fn begin(worker: u32, now: MonoNs, cpu: Micros) -> Self {
        Self { worker, start: now, poll_ns: 0, turns: 0, steps: 0, accepts: 0, cpu }
    }

    /// A connection was accepted.
    pub fn accepted(&mut self) {
        self.accepts += 1;
    }

    /// A loop turn ended: it counts in the stretch under way, which goes on.
    pub fn turned(&mut self) {
        self.turns += 1;
    }

    /// A step ended: it counts in the stretch under way, which goes on.
    pub fn stepped(&mut self) {
        self.steps += 1;
    }

    /// A poll returned. A long one is a stretch of its own, after what was before it.
    pub fn polled(&mut self, called: MonoNs, returned: MonoNs, sink: &mut impl StretchSink) {
        let length = returned.0.saturating_sub(called.0);
        if length < LONG_NS {
            self.poll_ns += length;
            self.end_if_long(returned, sink);
        } else {
            self.slept(called, returned, sink);
        }
    }

    /// The worker's life is over.
    pub fn finish(&mut self, now: MonoNs, sink: &mut impl StretchSink) {
        if !self.is_empty(now) {
            self.end(now, sink);
        }
    }

    fn is_empty(&self, now: MonoNs) -> bool {
        now <= self.start && (self.turns, self.steps, self.accepts) == (0, 0, 0)
    }

    /// What was counted last ended `now`, and with it the stretch, if it is long enough to be told.
    pub fn end_if_long(&mut self, now: MonoNs, sink: &mut impl StretchSink) {
        if now.0.saturating_sub(self.start.0) >= LONG_NS {
            self.end(now, sink);
        }
    }

    /// CPU time is known at the poll's return only. What was before it gets as much of it as it was
    /// long, and the poll the rest: a poll uses next to none.
    #[cold]
    fn slept(&mut self, called: MonoNs, returned: MonoNs, sink: &mut impl StretchSink) {
        let cpu = sink.cpu();
        if !self.is_empty(called) {
            let most = Micros(self.cpu.0 + called.micros_since(self.start).0);
            sink.tell(self.next(called, cpu.min(most)));
        }
        self.poll_ns = returned.0.saturating_sub(called.0);
        sink.tell(self.next(returned, cpu));
    }

    /// A hold ended `now`, and the stretch with it, however short.
    #[cold]
    pub fn end(&mut self, now: MonoNs, sink: &mut impl StretchSink) {
        let cpu = sink.cpu();
        sink.tell(self.next(now, cpu));
    }

    /// Takes the stretch that ends `now` and begins the next.
    fn next(&mut self, now: MonoNs, cpu: Micros) -> Stretch {
        // What is reckoned back from a later time may be too little.
        let cpu = cpu.max(self.cpu);
        let ended = Stretch {
            worker: self.worker,
            start_ns: self.start,
            end_ns: now,
            poll_us: Micros(self.poll_ns / 1_000),
            cpu_us: Micros(cpu.0.saturating_sub(self.cpu.0)),
            turns: self.turns,
            steps: self.steps,
            accepts: self.accepts,
        };
        *self = Self::begin(self.worker, now, cpu);
        ended
    }
}

#[cfg(test)]
mod tests;
