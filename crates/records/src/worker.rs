//! What workers did, and for how long: holds, long loop turns, totals, and their whole life in stretches;
//! and a worker as the kernel's scheduler sees it.

use serde::{Deserialize, Serialize};
use strum::EnumMessage;

use crate::{Bytes, Micros, MonoNs};

/// A step long enough to matter to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

impl Hold {
    /// Length of the step.
    pub const fn length_us(&self) -> Micros {
        self.end_ns.micros_since(self.start_ns)
    }
}

/// What ended a step; with each the word that a sentence has for it: "ended by ...".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, EnumMessage)]
#[serde(rename_all = "snake_case")]
pub enum StepEnd {
    /// The upstream socket was empty: EAGAIN, or all was read that FIONREAD saw.
    #[strum(message = "EAGAIN from the upstream")]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

impl LoopTurn {
    /// Length of the turn.
    pub const fn length_us(&self) -> Micros {
        self.end_ns.micros_since(self.start_ns)
    }
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

impl Stretch {
    /// Its length.
    pub const fn length_us(&self) -> Micros {
        self.end_ns.micros_since(self.start_ns)
    }
}

/// Counters of one worker's thread since it started, from `/proc/<pid>/task/<tid>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
