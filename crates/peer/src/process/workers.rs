//! Finding a program's workers: which processes or threads are its event loops.

use std::io;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use net::cpu::CpuList;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::look::{self, Wait};
use super::spawn;
use crate::driver::Workers;

/// One event loop; of a process that is one, both numbers are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Worker {
    pub(crate) pid: i32,
    pub(crate) tid: i32,
}

/// The workers found.
#[derive(Debug, Default)]
pub(crate) struct Crew {
    pub(crate) workers: Vec<Worker>,
    /// Those that are processes of their own, so that they can be told from others with their
    /// number after their death.
    pub(super) processes: Vec<OwnedFd>,
}

/// Looks for the workers of the program whose first process is `root`; `expected` of them, where
/// their number can be told. `None`: not all of them are there yet.
pub(crate) fn find(kind: Workers, root: Pid, expected: usize) -> Option<Crew> {
    let root = root.as_raw_pid();
    let children = || look::family(root).into_iter().filter(|&pid| pid != root);
    let process = |pid: i32| Worker { pid, tid: pid };
    let workers: Vec<Worker> = match kind {
        // Those of a program that nobody knows are found out by `acquaint`.
        Workers::None | Workers::Whatever => return Some(Crew::default()),
        Workers::Children { title } => {
            let titled = |pid: &i32| look::command_line(*pid).starts_with(title);
            children().filter(titled).map(process).collect()
        }
        Workers::Pools => children().map(process).collect(),
        Workers::PollingThreads => polling(root),
    };
    (workers.len() == expected).then(|| Crew::of(workers, root))
}

/// More workers than that no host here has.
const MOST: usize = 256;

/// Threads of a process that wait in a poll.
fn polling(pid: i32) -> Vec<Worker> {
    let threads = look::threads(pid).into_iter();
    threads
        .filter(|&tid| matches!(look::wait(pid, tid), Wait::Epoll(_) | Wait::Poll))
        .map(|tid| Worker { pid, tid })
        .collect()
}

/// How long all workers of a crew together may take to be back in their polls.
const BACK_WITHIN: Duration = Duration::from_millis(500);

/// The epoll that a worker waits in. It may have an event at hand just now, so it is looked at until it
/// is back.
fn epoll_of(worker: &Worker, until: Instant) -> Option<i32> {
    const BETWEEN: Duration = Duration::from_millis(1);
    loop {
        match look::wait(worker.pid, worker.tid) {
            Wait::Epoll(fd) => return Some(fd),
            Wait::Futex | Wait::Running | Wait::Other if Instant::now() < until => {
                thread::sleep(BETWEEN);
            }
            _ => return None,
        }
    }
}

impl Crew {
    /// `workers`, or, where there is none, the first process itself.
    pub(crate) fn some_of(mut workers: Vec<Worker>, root: i32) -> Self {
        workers.truncate(MOST);
        if workers.is_empty() {
            workers.push(Worker { pid: root, tid: root });
        }
        Self::of(workers, root)
    }

    fn of(workers: Vec<Worker>, root: i32) -> Self {
        let mut pids: Vec<i32> = workers.iter().map(|worker| worker.pid).collect();
        pids.dedup();
        pids.retain(|&pid| pid != root);
        let open = |pid| pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok();
        Self { processes: pids.into_iter().filter_map(open).collect(), workers }
    }

    /// The number of the worker that is process `pid`.
    pub(crate) fn of_process(&self, pid: u32) -> Option<u32> {
        let found = self.workers.iter().position(|worker| u32::try_from(worker.pid) == Ok(pid))?;
        u32::try_from(found).ok()
    }

    /// Puts each worker on its CPU.
    ///
    /// # Errors
    /// As `sched_setaffinity(2)`.
    pub(crate) fn pin(&self, cpus: &CpuList) -> io::Result<()> {
        for (index, worker) in self.workers.iter().enumerate() {
            let mut set = CpuSet::new();
            set.set(cpus.in_turn(index));
            sched_setaffinity(Pid::from_raw(worker.tid), &set)?;
        }
        Ok(())
    }

    /// CPUs that workers may run on; without workers, those of `root`.
    pub(crate) fn cpus(&self, root: Pid) -> Vec<usize> {
        let tids = self.workers.iter().map(|worker| Pid::from_raw(worker.tid));
        let tids: Vec<_> = if self.workers.is_empty() { vec![Some(root)] } else { tids.collect() };
        let sets: Vec<CpuSet> =
            tids.into_iter().filter_map(|tid| sched_getaffinity(tid).ok()).collect();
        (0..CpuSet::MAX_CPU).filter(|&cpu| sets.iter().any(|set| set.is_set(cpu))).collect()
    }

    /// Which of `inodes`, sockets that listen, each worker watches. A single one is shared by all.
    /// Empty: it cannot be told.
    pub(crate) fn listeners(&self, inodes: &[u64]) -> Vec<u64> {
        if inodes.len() <= 1 {
            return inodes.to_vec();
        }
        let until = Instant::now() + BACK_WITHIN;
        let of = |worker: &Worker| {
            let epolls = match epoll_of(worker, until) {
                Some(fd) => vec![fd],
                None => look::epolls(worker.pid),
            };
            let siblings = self.workers.iter().filter(|other| other.pid == worker.pid).count();
            // Of several, one is a sibling's.
            if epolls.len() > 1 && siblings > 1 {
                return None;
            }
            let mut watched = epolls.into_iter().flat_map(|fd| look::watched(worker.pid, fd));
            watched.find(|inode| inodes.contains(inode))
        };
        self.workers.iter().map(of).collect::<Option<Vec<_>>>().unwrap_or_default()
    }

    /// Calls `tell` when a worker that is a process of its own has ended.
    ///
    /// # Errors
    /// No thread can be made, or no descriptor is left.
    pub(crate) fn on_death(&self, tell: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let mut processes = Vec::new();
        for process in &self.processes {
            processes.push(process.try_clone()?);
        }
        if processes.is_empty() {
            return Ok(());
        }
        spawn("workers", move || {
            // pidfd_open(2): a descriptor of a process is readable when it has ended.
            let mut fds: Vec<_> =
                processes.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
            while matches!(poll(&mut fds, None), Err(rustix::io::Errno::INTR)) {}
            tell();
        })?;
        Ok(())
    }
}
