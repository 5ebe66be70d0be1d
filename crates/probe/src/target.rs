//! Who is watched for a trial: threads of a proxy, by number; and where what they did is told.

use std::path::Path;

use procfs::process::Process;
use records::Record;

use crate::error::ProbeError;

/// Where records go.
pub(crate) type Take<'a> = &'a mut dyn FnMut(Record);

/// One worker to be watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// Its number, from 0.
    pub worker: u32,
    /// Its process.
    pub pid: u32,
    /// Its thread; of a worker that is a process, the same number.
    pub tid: u32,
}

impl Target {
    /// Whether it runs.
    pub(crate) fn is_there(&self) -> bool {
        Path::new(&format!("/proc/{}/task/{}", self.pid, self.tid)).exists()
    }

    /// The same, where it runs.
    pub(crate) fn there(self) -> Result<Self, ProbeError> {
        let Self { pid, tid, .. } = self;
        if self.is_there() { Ok(self) } else { Err(ProbeError::Gone { pid, tid }) }
    }
}

/// The workers whose threads have these ids, numbered in their order.
///
/// # Errors
/// There is no such thread.
pub fn targets(tids: &[u32]) -> Result<Vec<Target>, ProbeError> {
    let target = |(worker, &tid): (u32, &u32)| {
        Target { worker, pid: process_of(tid).unwrap_or(tid), tid }.there()
    };
    (0..).zip(tids).map(target).collect()
}

/// The process of a thread.
pub(crate) fn process_of(tid: u32) -> Option<u32> {
    let status = Process::new(i32::try_from(tid).ok()?).ok()?.status().ok()?;
    u32::try_from(status.tgid).ok()
}

#[cfg(test)]
mod tests;
