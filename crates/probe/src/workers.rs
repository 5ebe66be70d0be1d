//! Which threads of a process are its workers.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use procfs::process::Process;

use crate::error::ProbeError;
use crate::process;
use crate::sample::{Doing, Watched};
use crate::tracer::{LOOKED_FOR, Target};

/// Which threads of a process are workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The main thread: a worker that is a process, as of nginx.
    Main,
    /// Every thread that is seen in a poll within half a second, or running at every look.
    Polling,
    /// The thread itself, whose id was given in the place of the process's.
    Itself,
}

/// The workers of `ids`, numbered in the order of the ids and of their threads.
///
/// # Errors
/// There is no such process or thread, or it has no worker.
pub fn targets(ids: &[u32], which: Which) -> Result<Vec<Target>, ProbeError> {
    let mut targets = Vec::new();
    for &id in ids {
        let found = match which {
            Which::Main => vec![(id, id)],
            Which::Itself => vec![(process_of(id)?, id)],
            Which::Polling => polling(id)?.into_iter().map(|tid| (id, tid)).collect(),
        };
        for (pid, tid) in found {
            let worker = u32::try_from(targets.len()).unwrap_or(u32::MAX);
            let target = Target { worker, pid, tid };
            // A thread that was found and has ended since is no worker.
            if which != Which::Polling {
                check(&target)?;
            }
            if is_there(&target) {
                targets.push(target);
            }
        }
    }
    Ok(targets)
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

/// The process of a thread.
fn process_of(tid: u32) -> Result<u32, ProbeError> {
    let process = i32::try_from(tid).ok().and_then(|tid| Process::new(tid).ok());
    let status = process.and_then(|process| process.status().ok());
    let pid = status.and_then(|status| u32::try_from(status.tgid).ok());
    pid.ok_or(ProbeError::Gone { worker: 0, pid: tid, tid })
}

/// Threads of `pid` that poll, in their order.
fn polling(pid: u32) -> Result<Vec<u32>, ProbeError> {
    let open = |tid| Some((tid, Watched::open(&Target { worker: 0, pid, tid }).ok()?));
    let mut threads: Vec<_> = process::threads(pid).filter_map(open).collect();
    let mut seen = BTreeSet::new();
    let mut elsewhere = BTreeSet::new();
    let until = Instant::now() + LOOKED_FOR;
    while Instant::now() < until && seen.len() < threads.len() {
        for (tid, watched) in &mut threads {
            match watched.look() {
                Some(Doing::Polling) => drop(seen.insert(*tid)),
                Some(Doing::Blocked) | None => drop(elsewhere.insert(*tid)),
                Some(Doing::Ready) => {}
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let is_worker = |tid: &u32| seen.contains(tid) || !elsewhere.contains(tid);
    let mut found: Vec<u32> = threads.iter().map(|(tid, _)| *tid).filter(is_worker).collect();
    found.sort_unstable();
    if found.is_empty() { Err(ProbeError::NoWorkers { pid }) } else { Ok(found) }
}

#[cfg(test)]
mod tests;
