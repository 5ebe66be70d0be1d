//! Which CPUs a thread may run on: `sched_setaffinity(2)`.

use std::io;

pub use records::CpuList;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The CPUs the calling thread may run on.
///
/// # Errors
/// As `sched_getaffinity(2)`.
pub fn allowed() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

/// Puts the calling thread on `cpus`; threads it starts later inherit that.
///
/// # Errors
/// None of them is there or allowed (EINVAL), as `sched_setaffinity(2)`; the message names those that
/// are.
pub fn pin_current_thread(cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|&cpu| set.set(cpu));
    sched_setaffinity(None, &set).map_err(|errno| {
        let source = io::Error::from(errno);
        let list =
            |cpus: Vec<usize>| CpuList::new(cpus).map_or_else(String::new, |l| l.to_string());
        let allowed = list(allowed().unwrap_or_default());
        let message = format!(
            "cannot run on CPUs {}: {source}; this process may run on {allowed}",
            list(cpus.to_vec())
        );
        io::Error::new(source.kind(), message)
    })
}
