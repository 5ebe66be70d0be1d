//! What is seen of a worker from outside that it does not tell itself: where it slept, which calls
//! took its time, when it was not in its poll.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Bytes, Micros, MonoNs};

/// A worker slept in a system call other than its poll, for 5 ms or more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    /// Which worker, from 0.
    pub worker: u32,
    /// When it fell asleep.
    pub start_ns: MonoNs,
    /// When it ran again.
    pub end_ns: MonoNs,
    /// The system call, as `pwrite64`; empty: none, a page had to be fetched.
    pub call: String,
    /// The client port of the session whose step it was in, if it was in one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub client_port: Option<u16>,
}

impl Blocked {
    /// Length of the sleep.
    pub const fn length_us(&self) -> Micros {
        self.end_ns.micros_since(self.start_ns)
    }
}

/// A worker's system calls since it was first seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTotals {
    /// Which worker, from 0.
    pub worker: u32,
    /// When they were taken.
    pub at_ns: MonoNs,
    /// By name, as `readv`.
    pub calls: BTreeMap<String, CallTotal>,
}

/// One system call of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTotal {
    /// How often it returned.
    pub count: u64,
    /// Time inside it.
    pub time_us: Micros,
    /// Of that, asleep.
    pub asleep_us: Micros,
    /// What it returned, where that is a number of bytes.
    pub bytes: Bytes,
}

/// A worker that was looked at many times and never seen in its poll.
///
/// That it was not there between two looks is likely, not certain: only a trace can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absence {
    /// Which worker, from 0.
    pub worker: u32,
    /// The first look that did not find it in its poll.
    pub start_ns: MonoNs,
    /// The look that found it there again, or the last one.
    pub end_ns: MonoNs,
    /// Looks, all told.
    pub looks: u32,
    /// Of these, found running.
    pub running: u32,
    /// Found ready to run, without a CPU.
    pub waiting: u32,
    /// Found asleep elsewhere.
    pub blocked: u32,
}

impl Absence {
    /// How long it was not seen in its poll.
    pub const fn length_us(&self) -> Micros {
        self.end_ns.micros_since(self.start_ns)
    }
}
