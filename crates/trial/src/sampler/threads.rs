//! Threads on and without a CPU: `/proc/<pid>/task/<tid>/schedstat` (proc(5)).
//!
//! The kernel adds a wait when it ends: of a thread that waits for a CPU right now, the wait shows
//! only once it has run again. So does a time on a CPU, but for ticks and switches.
//!
//! Not for: time that the hypervisor withheld. It looks like time on a CPU here; see
//! [`super::steal`].

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use net::clock;
use procfs::FromRead;
use procfs::process::Schedstat;
use records::{Record, SchedSample, Watched};

use super::Look;

#[cfg(test)]
mod tests;

/// The threads that are watched.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// An open file stays with its thread, so that another one with the same id is never taken for
    /// it.
    files: Vec<(Watched, File)>,
}

impl Look for Threads {
    /// One read of an open file takes 0.6 us in a row of many, and 5 us with what a loaded trial
    /// leaves in the caches (Linux 6.18): 0.1 % of a CPU for the six threads of the default trial.
    /// With 256 workers [`super::pace`] stretches it to 100 ms.
    const INTERVAL: Duration = Duration::from_millis(25);

    fn look(&mut self, seen: &mut Vec<Record>) {
        self.files.retain(|(who, file)| match read(file) {
            Ok(times) => {
                let at_ns = clock::now();
                seen.extend(times.map(|(run_ns, run_wait_ns)| {
                    Record::SchedSample(SchedSample { who: *who, at_ns, run_ns, run_wait_ns })
                }));
                true
            }
            Err(Gone) => false,
        });
    }
}

impl Threads {
    /// Watches one more thread, in place of an earlier one that went by the same name. One that is
    /// not there has no samples. `/proc/<tid>` leads to any thread, though only main threads are
    /// listed (proc(5)).
    pub(super) fn add(&mut self, who: Watched, tid: i32) {
        self.files.retain(|(watched, _)| *watched != who);
        if let Ok(file) = File::open(format!("/proc/{tid}/task/{tid}/schedstat")) {
            self.files.push((who, file));
        }
    }
}

/// The thread has ended.
struct Gone;

/// Times on and without a CPU; `None` where this kernel does not count them.
fn read(file: &File) -> Result<Option<(u64, u64)>, Gone> {
    // One call for the whole of it: three numbers and what stands between them.
    let mut text = [0; 64];
    let length = file.read_at(&mut text, 0).map_err(|_| Gone)?;
    let text = text.get(..length).unwrap_or_default();
    Schedstat::from_read(text).map(counted).map_err(|_| Gone)
}

/// Without CONFIG_SCHED_INFO or delay accounting the kernel says `0 0 0` (`proc_pid_schedstat`).
pub(super) fn counted(times: Schedstat) -> Option<(u64, u64)> {
    (times.pcount > 0).then_some((times.sum_exec_runtime, times.run_delay))
}
