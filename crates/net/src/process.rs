//! Processes of others and settings of the kernel, by what proc(5) tells of them, and the end of many processes.
//!
//! Not for: a child of ours, which [`crate::child`] runs.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use procfs::process::{Process, Stat, all_processes};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::child::ends_within;

/// The file of a sysctl by its dotted name, proc_sys(5): it is that of the thread's own network namespace.
pub fn sysctl_path(name: &str) -> PathBuf {
    Path::new("/proc/sys").join(name.replace('.', "/"))
}

/// What a sysctl is, its white space as single blanks.
pub fn sysctl(name: &str) -> Option<String> {
    let text = fs::read_to_string(sysctl_path(name)).ok()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Every process that this one can see.
pub fn pids() -> impl Iterator<Item = i32> {
    all_processes().into_iter().flatten().flatten().map(|process| process.pid)
}

/// A process' stat, as long as it is there.
pub fn stat(pid: i32) -> Option<Stat> {
    Process::new(pid).ok()?.stat().ok()
}

/// `root` and all that descend from it, oldest first.
pub fn family(root: i32) -> Vec<Stat> {
    let all: Vec<Stat> = pids().filter_map(stat).collect();
    let mut family: Vec<Stat> = all.iter().filter(|stat| stat.pid == root).cloned().collect();
    let mut next = 0;
    while let Some(parent) = family.get(next).map(|stat| stat.pid) {
        let mut children: Vec<&Stat> = all.iter().filter(|stat| stat.ppid == parent).collect();
        children.sort_unstable_by_key(|stat| (stat.starttime, stat.pid));
        family.extend(children.into_iter().cloned());
        next += 1;
    }
    family
}

/// Whether `pid` descends from `ancestor`, or is it.
pub fn descends(mut pid: i32, ancestor: i32) -> bool {
    // Chains of parents are short; the bound is for a table that changes under our eyes.
    for _ in 0..64 {
        if pid == ancestor {
            return true;
        }
        match stat(pid) {
            Some(stat) => pid = stat.ppid,
            None => return false,
        }
    }
    false
}

/// How long those that were just killed are waited for before it is looked who is left.
const WAIT: Duration = Duration::from_millis(200);

/// Kills whom `alive` finds until that is nobody, or the time is up; returns who is left. `is_meant` says it
/// of a process again once a handle of it is held: its number may have become another's since.
pub fn end_all(
    alive: impl Fn() -> Vec<i32>,
    is_meant: impl Fn(i32) -> bool,
    deadline: Instant,
) -> Vec<i32> {
    let kill = |pid: i32| {
        let process = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        if is_meant(pid) {
            // ESRCH: it is dead already.
            let _ = pidfd_send_signal(&process, Signal::KILL);
        }
        Some(process)
    };
    // One that is killed may just have started another: look again until there is none.
    loop {
        let left = alive();
        if left.is_empty() || Instant::now() >= deadline {
            return left;
        }
        let ended: Vec<OwnedFd> = left.into_iter().filter_map(kill).collect();
        let until = deadline.min(Instant::now() + WAIT);
        for process in ended {
            ends_within(&process, until.saturating_duration_since(Instant::now()));
        }
    }
}
