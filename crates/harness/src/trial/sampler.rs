//! The workers as the scheduler sees them, from outside: `/proc/<pid>/task/<tid>` (proc(5)).

use std::time::{Duration, Instant};

use net::clock;
use procfs::process::{Process, Task};
use records::WorkerSample;

/// Reads the counters of every worker at a steady pace.
#[derive(Debug)]
pub(super) struct Sampler {
    workers: Vec<Option<Task>>,
    due: Instant,
}

impl Sampler {
    /// Time between two samples: fine enough to see a phase, cheap enough for 256 workers.
    pub(super) const INTERVAL: Duration = Duration::from_millis(250);

    /// Samples the threads `tids` of process `pid`, by worker. A thread that is not there has no
    /// samples.
    pub(super) fn new(pid: u32, tids: &[i32]) -> Self {
        let process = i32::try_from(pid).ok().and_then(|pid| Process::new(pid).ok());
        let task =
            |tid: &i32| process.as_ref().and_then(|process| process.task_from_tid(*tid).ok());
        Self { workers: tids.iter().map(task).collect(), due: Instant::now() }
    }

    /// When the next samples should be taken.
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// The counters now.
    pub(super) fn take(&mut self) -> Vec<WorkerSample> {
        self.due = Instant::now() + Self::INTERVAL;
        let present = self
            .workers
            .iter()
            .enumerate()
            .filter_map(|(worker, task)| Some((worker, task.as_ref()?)));
        present.filter_map(|(worker, task)| read(u32::try_from(worker).ok()?, task)).collect()
    }
}

/// `None` when the thread has ended.
fn read(worker: u32, task: &Task) -> Option<WorkerSample> {
    let at_ns = clock::now();
    let stat = task.stat().ok()?;
    let status = task.status().ok()?;
    // A kernel without CONFIG_SCHED_INFO has no such file.
    let schedstat = task.schedstat().ok();
    let ms = |ticks: u64| ticks * 1_000 / procfs::ticks_per_second().max(1);
    Some(WorkerSample {
        worker,
        at_ns,
        user_ms: ms(stat.utime),
        system_ms: ms(stat.stime),
        run_ns: schedstat.as_ref().map(|times| times.sum_exec_runtime),
        run_wait_ns: schedstat.as_ref().map(|times| times.run_delay),
        voluntary_switches: status.voluntary_ctxt_switches?,
        involuntary_switches: status.nonvoluntary_ctxt_switches?,
    })
}

#[cfg(test)]
mod tests;
