//! What a live watch tells: turns of every thread that polls, and its holds.

use std::net::SocketAddr;

use records::{Bytes, Micros, MonoNs, StepHistogram};

use crate::calls::Call;

/// What is to be told of a live process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldOptions {
    /// A turn of this length or longer is a hold. Default: 50 ms. Below 20 ms, bytes are seen only
    /// where the hooks happened to be armed already.
    pub threshold: Micros,
}

impl Default for HoldOptions {
    fn default() -> Self {
        Self { threshold: Micros(50_000) }
    }
}

/// What was seen since the last look, and what is under way at this one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// When it was looked (CLOCK_MONOTONIC).
    pub at: MonoNs,
    /// Holds that last still, the longest first. Each is told at every look while it lasts, and once
    /// more in `closed`.
    pub open: Vec<Hold>,
    /// Holds that ended since the last look, in the order of their ends.
    pub closed: Vec<Hold>,
    /// Turns of every watched thread that polls, since the watch began, by process and thread.
    pub turns: Vec<Turns>,
    /// Holds that ended and were lost since the watch began, as the ring was full.
    pub lost: u64,
}

/// A turn that lasted: a thread came out of its poll and has not gone back to sleep in it.
///
/// `on_cpu`, `runnable` and `asleep` add up to `length`, but for what rounding takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The process, as the reader's PID namespace numbers it.
    pub pid: u32,
    /// The thread, likewise. With `began` it tells one hold from another.
    pub tid: u32,
    /// The thread's name.
    pub comm: String,
    /// When it woke in its poll (CLOCK_MONOTONIC).
    pub began: MonoNs,
    /// How long it has lasted, or lasted.
    pub length: Micros,
    /// Whether it is over.
    pub state: HoldState,
    /// Time on a CPU.
    pub on_cpu: Micros,
    /// Time without a CPU that it wanted.
    pub runnable: Micros,
    /// Time asleep, outside of its poll.
    pub asleep: Micros,
    /// The call in which it slept longest, or sleeps now; `None`: it did not sleep.
    pub asleep_in: Option<Call>,
    /// Bytes by connection, most first; at most eight. They are counted from some 20 ms after
    /// `began` on, when the hooks are armed. Empty: it moved none through TCP since.
    pub moved: Vec<Moved>,
    /// Bytes of connections beyond those eight.
    pub moved_elsewhere: Bytes,
}

/// Whether a hold is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldState {
    /// It lasts still.
    Open,
    /// It has ended.
    Closed,
}

/// Bytes of one TCP connection within a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The process's own end. IPv4 in IPv6 is written as IPv4.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Bytes received from the other end.
    pub read: Bytes,
    /// Bytes sent to it.
    pub written: Bytes,
}

/// Turns of one thread, all of them, by length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turns {
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// The thread's name.
    pub comm: String,
    /// How many took how long; turns that end without sleep in the poll count as one with the next.
    pub lengths: StepHistogram,
    /// Time of all of them.
    pub total: Micros,
}
