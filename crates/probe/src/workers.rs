//! Threads that are to be watched.

use std::path::Path;

use procfs::process::Process;

use crate::error::ProbeError;
use crate::tracer::Target;

/// The workers whose threads have these ids, numbered in their order.
///
/// # Errors
/// There is no such thread.
pub fn targets(tids: &[u32]) -> Result<Vec<Target>, ProbeError> {
    let target = |(worker, tid): (u32, &u32)| {
        let process = i32::try_from(*tid).ok().and_then(|tid| Process::new(tid).ok());
        let status = process.and_then(|process| process.status().ok());
        let pid = status.and_then(|status| u32::try_from(status.tgid).ok());
        let target = Target { worker, pid: pid.unwrap_or(*tid), tid: *tid };
        check(&target).map(|()| target)
    };
    (0..).zip(tids).map(target).collect()
}

/// Whether the worker runs.
pub(crate) fn check(target: &Target) -> Result<(), ProbeError> {
    if is_there(target) {
        Ok(())
    } else {
        let Target { worker, pid, tid } = *target;
        Err(ProbeError::Gone { worker, pid, tid })
    }
}

pub(crate) fn is_there(target: &Target) -> bool {
    Path::new(&format!("/proc/{}/task/{}", target.pid, target.tid)).exists()
}

#[cfg(test)]
mod tests;
