//! Finding a program's workers: which processes or threads are its event loops, and, where its file does not
//! say, discovering them by looks at its threads.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use net::cpu::CpuList;
use probe::process::{self, Wait};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::processes;
use crate::server::{self, Are};

/// One event loop; of a process that is one, both numbers are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Worker {
    pub(crate) pid: i32,
    pub(crate) tid: i32,
}

/// The workers found.
#[derive(Debug, Default)]
pub(crate) struct Workers(pub(crate) Vec<Worker>);

/// Looks for the workers of the program whose first process is `root`; `expected` of them, where
/// their number can be told. `None`: not all of them are there yet.
pub(crate) fn find(kind: &server::Workers, root: Pid, expected: usize) -> Option<Workers> {
    let root = root.as_raw_pid();
    let children = || net::process::family(root).into_iter().skip(1).map(|stat| stat.pid);
    let process = |pid: i32| Worker { pid, tid: pid };
    let workers: Vec<Worker> = match kind.are {
        // Those of a program that nobody knows are found out by `discover`.
        Are::None | Are::Discovered => return Some(Workers::default()),
        Are::Processes => {
            let titled = |pid: &i32| processes::command_line(*pid).starts_with(&kind.title);
            children().filter(titled).map(process).collect()
        }
        Are::Pools => children().map(process).collect(),
        Are::Threads => polling(root),
    };
    (workers.len() == expected).then_some(Workers(workers))
}

/// More workers than that no host here has.
const MOST: usize = 256;

/// Threads of a process that wait in a poll.
fn polling(pid: i32) -> Vec<Worker> {
    let threads = processes::threads(pid).into_iter();
    let workers = threads.map(|thread| Worker { pid, tid: thread.tid });
    workers
        .filter(|worker| matches!(worker.waits_in(), Some(Wait::Epoll(_) | Wait::Poll)))
        .collect()
}

/// How long all workers together may take to be back in their polls.
const BACK_WITHIN: Duration = Duration::from_millis(500);

impl Worker {
    fn waits_in(&self) -> Option<Wait> {
        process::wait(self.pid.cast_unsigned(), self.tid.cast_unsigned())
    }

    /// The epoll that it waits in. It may have an event at hand just now, so it is looked at until it is
    /// back.
    fn epoll(&self, until: Instant) -> Option<i32> {
        loop {
            match self.waits_in() {
                Some(Wait::Epoll(fd)) => return Some(fd),
                Some(Wait::Poll) => return None,
                _ if Instant::now() >= until => return None,
                _ => thread::sleep(Duration::from_millis(1)),
            }
        }
    }
}

impl Workers {
    /// `workers`, or, where there is none, the first process itself.
    pub(crate) fn some_of(mut workers: Vec<Worker>, root: Pid) -> Self {
        let root = root.as_raw_pid();
        workers.truncate(MOST);
        if workers.is_empty() {
            workers.push(Worker { pid: root, tid: root });
        }
        Self(workers)
    }

    /// Their processes, each as one worker.
    pub(crate) fn whole(self) -> Self {
        let mut pids: Vec<i32> = self.0.into_iter().map(|worker| worker.pid).collect();
        pids.sort_unstable();
        pids.dedup();
        Self(pids.into_iter().map(|pid| Worker { pid, tid: pid }).collect())
    }

    /// Handles of those that are processes of their own.
    pub(crate) fn processes(&self, root: Pid) -> Vec<OwnedFd> {
        let mut pids: Vec<i32> = self.0.iter().map(|worker| worker.pid).collect();
        pids.dedup();
        pids.retain(|&pid| pid != root.as_raw_pid());
        let open = |pid| pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok();
        pids.into_iter().filter_map(open).collect()
    }

    /// The number of the worker that is process `pid`.
    pub(crate) fn of_process(&self, pid: u32) -> Option<u32> {
        let found = self.0.iter().position(|worker| u32::try_from(worker.pid) == Ok(pid))?;
        u32::try_from(found).ok()
    }

    /// Puts each worker on its CPU.
    ///
    /// # Errors
    /// As `sched_setaffinity(2)`.
    pub(crate) fn pin(&self, cpus: &CpuList) -> io::Result<()> {
        for (index, worker) in self.0.iter().enumerate() {
            let mut set = CpuSet::new();
            set.set(cpus.in_turn(index));
            sched_setaffinity(Pid::from_raw(worker.tid), &set)?;
        }
        Ok(())
    }

    /// CPUs that workers may run on; without workers, those of `root`.
    pub(crate) fn cpus(&self, root: Pid) -> Vec<usize> {
        let tids = self.0.iter().map(|worker| Pid::from_raw(worker.tid));
        let tids: Vec<_> = if self.0.is_empty() { vec![Some(root)] } else { tids.collect() };
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
            let epolls = match worker.epoll(until) {
                Some(fd) => vec![fd],
                None => process::epolls(worker.pid.cast_unsigned()).collect(),
            };
            let siblings = self.0.iter().filter(|other| other.pid == worker.pid).count();
            // Of several, one is a sibling's.
            if epolls.len() > 1 && siblings > 1 {
                return None;
            }
            let pid = worker.pid.cast_unsigned();
            let mut watched = epolls.into_iter().flat_map(|fd| process::watched(pid, fd));
            watched.find(|inode| inodes.contains(inode))
        };
        self.0.iter().map(of).collect::<Option<Vec<_>>>().unwrap_or_default()
    }
}

/// How threads of a program serve connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Serving {
    /// Each what its own poll returned, as far as can be seen.
    Own,
    /// What others hand them.
    HandedOn,
}

/// What is known of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Known {
    /// How many were seen before it.
    place: usize,
    name: String,
    /// Switches when it was last looked at.
    switches: u64,
    /// Rounds of requests in which it ran.
    ran_in: BTreeSet<u32>,
    /// It was seen to rest in a poll.
    polls: bool,
    /// Its epoll descriptors.
    epolls: BTreeSet<i32>,
    /// It was seen to rest until another thread wakes it.
    is_woken: bool,
    /// It was seen to rest in accept(2).
    accepts: bool,
}

/// The threads of a program of which nobody knows how it works, by process and thread: where each of them
/// waits while nothing is to be done, and who runs when there is.
///
/// Steps can be told of threads that poll and serve what their poll returned. A runtime that hands
/// work from thread to thread (tokio's on many threads, Go's) has one of them wait in the poll and
/// the others elsewhere until they are given some: what such a thread does between two polls is no
/// step, and a trace of the one that happened to be in the poll tells of a part of the work.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    threads: BTreeMap<(i32, i32), Known>,
    rounds: u32,
}

impl Discovery {
    /// Looks at all threads of the program whose first process is `root`, now that nothing is to be
    /// done: after a round of requests, or before the first.
    pub(crate) fn look(&mut self, root: i32) {
        for pid in net::process::family(root).into_iter().map(|stat| stat.pid) {
            for thread in processes::threads(pid) {
                let Some((name, switches)) = processes::switches(&thread) else { continue };
                let wait = Worker { pid, tid: thread.tid }.waits_in();
                self.seen((pid, thread.tid), name, switches, wait);
            }
        }
        self.rounds += 1;
    }

    fn seen(&mut self, thread: (i32, i32), name: String, switches: u64, wait: Option<Wait>) {
        let (place, is_new) = (self.threads.len(), !self.threads.contains_key(&thread));
        let known =
            self.threads.entry(thread).or_insert_with(|| Known { place, ..Known::default() });
        if !is_new && switches > known.switches {
            known.ran_in.insert(self.rounds);
        }
        (known.name, known.switches) = (name, switches);
        match wait {
            Some(Wait::Epoll(fd)) => {
                known.polls = true;
                known.epolls.insert(fd);
            }
            Some(Wait::Poll) => known.polls = true,
            Some(Wait::Futex) => known.is_woken = true,
            Some(Wait::Accept) => known.accepts = true,
            Some(Wait::Running | Wait::Call(_)) | None => {}
        }
    }

    /// Threads that rest in a poll, in the order in which they were seen: the oldest first.
    pub(crate) fn workers(&self) -> Vec<Worker> {
        let mut polling: Vec<_> = self.threads.iter().filter(|(_, known)| known.polls).collect();
        polling.sort_by_key(|(_, known)| known.place);
        polling.into_iter().map(|(&(pid, tid), _)| Worker { pid, tid }).collect()
    }

    /// How the workers serve, by what was seen.
    pub(crate) fn serving(&self) -> Serving {
        if self.share_a_poll()
            || self.rest_in_two_places()
            || self.wake_their_like()
            || self.accept_for_others()
        {
            Serving::HandedOn
        } else {
            Serving::Own
        }
    }

    /// Two threads that rest in one epoll take turns in it.
    fn share_a_poll(&self) -> bool {
        let mut taken = BTreeSet::new();
        let epolls = self
            .threads
            .iter()
            .flat_map(|(&(pid, _), known)| known.epolls.iter().map(move |&fd| (pid, fd)));
        epolls.into_iter().any(|epoll| !taken.insert(epoll))
    }

    fn rest_in_two_places(&self) -> bool {
        self.threads.values().any(|known| known.polls && known.is_woken)
    }

    /// Threads that never poll, named as a worker of their process is, or its first: one of them or
    /// another ran in half of all rounds or more. Those that write logs and the like are mostly named
    /// otherwise. (tokio accepts on the first thread, which is named as the program.)
    fn wake_their_like(&self) -> bool {
        let workers: BTreeSet<(i32, &str)> = self
            .threads
            .iter()
            .filter(|(_, known)| known.polls)
            .map(|(&(pid, _), known)| (pid, known.name.as_str()))
            .collect();
        self.ran_often(|(pid, tid), known| {
            let is_like = tid == pid || workers.contains(&(pid, known.name.as_str()));
            !known.polls && known.is_woken && is_like
        })
    }

    /// A thread that rests in accept(2) takes what is asked, and others of its process run meanwhile: of
    /// Varnish a thread of its pool, in no poll, and of Traffic Server a loop that was given the connection.
    fn accept_for_others(&self) -> bool {
        let accepting = |&(_, known): &(_, &Known)| known.accepts;
        let pids: BTreeSet<i32> =
            self.threads.iter().filter(accepting).map(|(&(pid, _), _)| pid).collect();
        self.ran_often(|_, known| known.accepts)
            && self.ran_often(|(pid, _), known| !known.accepts && pids.contains(&pid))
    }

    /// Whether one or another of such threads ran in half of all rounds or more.
    fn ran_often(&self, such: impl Fn((i32, i32), &Known) -> bool) -> bool {
        let threads = self.threads.iter().filter(|&(&thread, known)| such(thread, known));
        let ran: BTreeSet<u32> =
            threads.flat_map(|(_, known)| known.ran_in.iter().copied()).collect();
        // The first look was before the first round.
        let rounds = self.rounds.saturating_sub(1) as usize;
        rounds > 0 && 2 * ran.len() >= rounds
    }
}

#[cfg(test)]
mod tests;
