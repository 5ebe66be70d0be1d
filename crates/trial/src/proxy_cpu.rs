//! CPU time of the proxy under test: all its processes together, whatever they consist of.
//!
//! Not for: what one worker used; the sampler tells that.

use std::collections::HashMap;
use std::path::Path;

use procfs::process::{self, Process, Stat};

/// CPU time of the processes that run the file `program` and are `root` or descend from it, in ms;
/// `None`: none is there, or the kernel hides them.
///
/// Those that ended before are not in it: nobody waits for a worker's CPU time but its parent.
pub(super) fn used_ms(root: u32, program: &Path) -> Option<u64> {
    let root = i32::try_from(root).ok()?;
    let all: HashMap<i32, (Process, Stat)> = process::all_processes()
        .ok()?
        .filter_map(|process| {
            let process = process.ok()?;
            let stat = process.stat().ok()?;
            Some((stat.pid, (process, stat)))
        })
        .collect();
    let descends = |mut pid: i32| {
        // Chains of parents are short; the bound is for a table that changes under our eyes.
        for _ in 0..64 {
            if pid == root {
                return true;
            }
            match all.get(&pid) {
                Some((_, stat)) => pid = stat.ppid,
                None => return false,
            }
        }
        false
    };
    let ours = all.iter().filter(|(pid, (process, _))| {
        descends(**pid) && process.exe().is_ok_and(|exe| exe == program)
    });
    let ticks: Vec<u64> = ours.map(|(_, (_, stat))| stat.utime + stat.stime).collect();
    let sum: u64 = ticks.iter().sum();
    (!ticks.is_empty()).then(|| sum.saturating_mul(1_000) / procfs::ticks_per_second().max(1))
}

#[cfg(test)]
mod tests;
