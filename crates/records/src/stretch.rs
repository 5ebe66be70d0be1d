//! Where a worker's time went: its whole life in pieces, so that a fetch can be laid upon it.

use serde::{Deserialize, Serialize};

use crate::{Micros, MonoNs};

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
