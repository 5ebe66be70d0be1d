//! Threads, workers and CPUs, in `/proc` (proc(5)).
//!
//! - [`Threads`]: time on and without a CPU, `/proc/<pid>/task/<tid>/schedstat`. The kernel adds a wait
//!   when it ends: of a thread that waits for a CPU right now, the wait shows only once it has run again.
//!   So does a time on a CPU, but for ticks and switches. And what their group's quota withheld from
//!   workers, which is told likewise.
//! - [`Workers`]: CPU time and switches of the workers, `/proc/<pid>/task/<tid>`
//! - [`Cpus`]: CPU time that was used, and that the hypervisor withheld, of each CPU a worker may run on,
//!   `/proc/stat`. To a thread, withheld time looks like time on a CPU.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use net::clock;
use procfs::FromRead;
use procfs::process::{Process, Schedstat, Task};
use records::{CpuSample, Micros, Record, SchedSample, ThrottleSample, Watched, WorkerSample};

use super::Look;
use crate::withheld;

#[cfg(test)]
mod tests;

/// The threads that are watched.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// An open file stays with its thread, so that another one with the same id is never taken for
    /// it.
    files: Vec<(Watched, File)>,
    /// What withholds CPU time from the workers: the quotas of the groups that they are in.
    quotas: Vec<File>,
}

impl Look for Threads {
    /// One read of an open file takes 0.6 us in a row of many, and 5 us with what a loaded trial
    /// leaves in the caches (Linux 6.18): 0.1 % of a CPU for the six threads of the default trial.
    /// With 256 workers its pace stretches it to 100 ms.
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
            Err(_) => false,
        });
        seen.extend(self.throttled().map(Record::ThrottleSample));
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

    /// Watches the quotas of the groups that thread `tid` is in.
    pub(super) fn add_quotas(&mut self, tid: i32) {
        let files = withheld::stat_files(tid);
        self.quotas = files.iter().filter_map(|path| File::open(path).ok()).collect();
    }

    /// All of them together; `None`: there are none, or the kernel does not tell.
    fn throttled(&self) -> Option<ThrottleSample> {
        let at_ns = clock::now();
        let read = |file: &File| {
            let mut text = [0; 512];
            let length = file.read_at(&mut text, 0).ok()?;
            withheld::withheld(str::from_utf8(text.get(..length)?).ok()?)
        };
        let sum = |one: (u64, u64), more: (u64, u64)| {
            (one.0.saturating_add(more.0), one.1.saturating_add(more.1))
        };
        let (periods, us) = self.quotas.iter().filter_map(read).reduce(sum)?;
        Some(ThrottleSample { at_ns, periods, throttled_us: Micros(us) })
    }
}

/// Times on and without a CPU; `None` where this kernel does not count them. An error: the thread has ended.
fn read(file: &File) -> procfs::ProcResult<Option<(u64, u64)>> {
    // One call for the whole of it: three numbers and what stands between them.
    let mut text = [0; 64];
    let length = file.read_at(&mut text, 0)?;
    let text = text.get(..length).unwrap_or_default();
    Schedstat::from_read(text).map(counted)
}

/// Without CONFIG_SCHED_INFO or delay accounting the kernel says `0 0 0` (`proc_pid_schedstat`).
fn counted(times: Schedstat) -> Option<(u64, u64)> {
    (times.pcount > 0).then_some((times.sum_exec_runtime, times.run_delay))
}

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
        let samples = self.tasks.iter().filter_map(|(worker, task)| sample(*worker, task));
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
fn sample(worker: u32, task: &Task) -> Option<WorkerSample> {
    let at_ns = clock::now();
    let stat = task.stat().ok()?;
    let status = task.status().ok()?;
    let times = task.schedstat().ok().and_then(counted);
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

/// The CPUs that are watched; empty: all there are.
#[derive(Debug)]
pub(super) struct Cpus(pub(super) Vec<usize>);

/// CPUs watched at most: the first.
const MOST: usize = 16;

impl Look for Cpus {
    /// The kernel counts in ticks of 10 ms. One read takes 10 us on two CPUs, 45 us in a loaded
    /// trial (Linux 6.18).
    const INTERVAL: Duration = Duration::from_millis(100);

    fn look(&mut self, seen: &mut Vec<Record>) {
        let at_ns = clock::now();
        let Ok(text) = fs::read_to_string("/proc/stat") else { return };
        let wanted = |cpu: u32| self.0.is_empty() || self.0.contains(&(cpu as usize));
        let samples = ticks(&text).filter(|&(cpu, ..)| wanted(cpu)).take(MOST);
        seen.extend(samples.map(|(cpu, busy, stolen)| {
            let (stolen_ms, busy_ms) = (ms(stolen), Some(ms(busy)));
            Record::CpuSample(CpuSample { cpu, at_ns, stolen_ms, busy_ms })
        }));
    }
}

/// Ticks by CPU: used, and withheld. A CPU that is offline has no line, so its number is read and not
/// counted. `steal` is there since Linux 2.6.11; guests' time, after it, is in `user` as well.
fn ticks(text: &str) -> impl Iterator<Item = (u32, u64, u64)> {
    text.lines().filter_map(|line| {
        let (cpu, fields) = line.strip_prefix("cpu")?.split_once(' ')?;
        let fields: Vec<u64> = fields.split(' ').map_while(|field| field.parse().ok()).collect();
        let &[user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = fields.as_slice()
        else {
            return None;
        };
        let busy = [user, nice, system, irq, softirq].into_iter().fold(0, u64::saturating_add);
        Some((cpu.parse().ok()?, busy, steal))
    })
}

/// Milliseconds of the kernel's clock ticks.
fn ms(ticks: u64) -> u64 {
    ticks.saturating_mul(1_000) / procfs::ticks_per_second().max(1)
}
