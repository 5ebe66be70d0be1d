//! The workers' CPU time and switches: `/proc/<pid>/task/<tid>` (proc(5)).

use std::time::Duration;

use net::clock;
use procfs::process::{Process, Task};
use records::{Record, WorkerSample};

use super::{Look, threads};

#[cfg(test)]
mod tests;

/// The workers that are watched.
#[derive(Debug, Default)]
pub(super) struct Workers {
    tasks: Vec<(u32, Task)>,
}

impl Look for Workers {
    /// Fine enough to see a phase. The three files of one worker take 50 us, 90 us in a loaded trial
    /// (Linux 6.18).
    const INTERVAL: Duration = Duration::from_millis(250);
    /// Two looks are the least that a phase of 1 s can be told from. With 256 workers that is 2 % of
    /// a CPU.
    const LONGEST: Duration = Duration::from_millis(500);

    fn look(&mut self, seen: &mut Vec<Record>) {
        let samples = self.tasks.iter().filter_map(|(worker, task)| read(*worker, task));
        seen.extend(samples.map(Record::WorkerSample));
    }
}

impl Workers {
    /// Watches the threads `tids`, by worker. A thread that is not there has no samples.
    pub(super) fn new(tids: &[i32]) -> Self {
        let task = |tid: i32| Process::new(tid).ok()?.task_from_tid(tid).ok();
        let tasks = (0..).zip(tids).filter_map(|(worker, &tid)| Some((worker, task(tid)?)));
        Self { tasks: tasks.collect() }
    }
}

/// `None` when the thread has ended.
fn read(worker: u32, task: &Task) -> Option<WorkerSample> {
    let at_ns = clock::now();
    let stat = task.stat().ok()?;
    let status = task.status().ok()?;
    let times = task.schedstat().ok().and_then(threads::counted);
    let ms = |ticks: u64| ticks.saturating_mul(1_000) / procfs::ticks_per_second().max(1);
    Some(WorkerSample {
        worker,
        at_ns,
        user_ms: ms(stat.utime),
        system_ms: ms(stat.stime),
        run_ns: times.map(|(run_ns, _)| run_ns),
        run_wait_ns: times.map(|(_, run_wait_ns)| run_wait_ns),
        voluntary_switches: status.voluntary_ctxt_switches?,
        involuntary_switches: status.nonvoluntary_ctxt_switches?,
    })
}
