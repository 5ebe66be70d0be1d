//! What workers did, and for how long: holds, long loop turns and totals.

use serde::{Deserialize, Serialize};

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

/// What ended a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepEnd {
    /// The upstream socket was empty: EAGAIN, or all was read that FIONREAD saw.
    UpstreamEmpty,
    /// The client's socket was full (EAGAIN).
    DownstreamFull,
    /// The client has sent nothing more yet (EAGAIN).
    DownstreamEmpty,
    /// The upstream could not take more of the request yet, or is not connected (EAGAIN).
    UpstreamFull,
    /// The read policy: a read shorter than the buffer.
    ShortRead,
    /// The read policy: more was read than FIONREAD saw.
    Fionread,
    /// The read policy: its quota of bytes, reads or time.
    Quota,
    /// The session ended.
    Closed,
    /// The worker went on to another session or to its poll; why, no record tells.
    Unknown,
}

impl StepEnd {
    /// The word used in records; reports put it in a sentence with [`StepEnd::words`].
    pub const fn words(self) -> &'static str {
        match self {
            Self::UpstreamEmpty => "EAGAIN from the upstream",
            Self::DownstreamFull => "EAGAIN from the client",
            Self::DownstreamEmpty => "waiting for the client",
            Self::UpstreamFull => "waiting to send upstream",
            Self::ShortRead => "a short read",
            Self::Fionread => "FIONREAD's count",
            Self::Quota => "its quota",
            Self::Closed => "its end",
            Self::Unknown => "nothing that was seen",
        }
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
