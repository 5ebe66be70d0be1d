//! Which threads of a process are its workers.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::ProbeError;
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

/// The process of a thread (`Tgid` of proc_pid_status(5)).
fn process_of(tid: u32) -> Result<u32, ProbeError> {
    let path = format!("/proc/{tid}/status");
    let status = read(&path)?;
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    let pid = line.and_then(|value| value.trim().parse().ok());
    pid.ok_or(ProbeError::Gone { worker: 0, pid: tid, tid })
}

/// Threads of `pid` that poll, in their order.
fn polling(pid: u32) -> Result<Vec<u32>, ProbeError> {
    let dir = format!("/proc/{pid}/task");
    let failed = |source| ProbeError::Proc { path: dir.clone(), source };
    let mut threads = Vec::new();
    for entry in fs::read_dir(&dir).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if let Some(tid) = name.to_str().and_then(|name| name.parse().ok())
            && let Ok(watched) = Watched::open(&Target { worker: 0, pid, tid })
        {
            threads.push((tid, watched));
        }
    }
    let mut seen = BTreeSet::new();
    let mut elsewhere = BTreeSet::new();
    let until = Instant::now() + LOOKED_FOR;
    while Instant::now() < until && seen.len() < threads.len() {
        for (tid, watched) in &mut threads {
            match watched.look() {
                Some(Doing::Polling) => {
                    seen.insert(*tid);
                }
                Some(Doing::Blocked) | None => {
                    elsewhere.insert(*tid);
                }
                Some(Doing::Ready) => {}
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let busy = |tid: &u32| !elsewhere.contains(tid);
    let mut found: Vec<u32> =
        threads.iter().map(|(tid, _)| *tid).filter(|tid| seen.contains(tid) || busy(tid)).collect();
    found.sort_unstable();
    if found.is_empty() { Err(ProbeError::NoWorkers { pid }) } else { Ok(found) }
}

/// Ports on which `pid` listens (proc_pid_net(5): state 0A), by the sockets it has open.
pub(crate) fn listening_ports(pid: u32) -> BTreeSet<u16> {
    let mut ports = BTreeSet::new();
    let Ok(fds) = fs::read_dir(format!("/proc/{pid}/fd")) else { return ports };
    let open: BTreeSet<String> = fds
        .filter_map(|fd| fs::read_link(fd.ok()?.path()).ok())
        .filter_map(|link| {
            let name = link.to_str()?.strip_prefix("socket:[")?;
            Some(name.trim_end_matches(']').to_owned())
        })
        .collect();
    for table in ["tcp", "tcp6"] {
        let table = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        for row in table.lines().skip(1) {
            let columns: Vec<&str> = row.split_ascii_whitespace().collect();
            let (Some(local), Some(&"0A"), Some(inode)) =
                (columns.get(1), columns.get(3), columns.get(9))
            else {
                continue;
            };
            let port =
                local.rsplit_once(':').and_then(|(_, hex)| u16::from_str_radix(hex, 16).ok());
            if open.contains(*inode) {
                ports.extend(port);
            }
        }
    }
    ports
}

fn read(path: &str) -> Result<String, ProbeError> {
    fs::read_to_string(path)
        .map_err(|source: io::Error| ProbeError::Proc { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests;
