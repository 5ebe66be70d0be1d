//! Discovering the workers of a program of which nobody knows how it works: where each of its threads waits
//! while nothing is to be done, and who runs when there is.
//!
//! Steps can be told of threads that poll and serve what their poll returned. A runtime that hands
//! work from thread to thread (tokio's on many threads, Go's) has one of them wait in the poll and
//! the others elsewhere until they are given some: what such a thread does between two polls is no
//! step, and a trace of the one that happened to be in the poll tells of a part of the work.
//!
//! Not for: servers whose file tells where their workers are.

use std::collections::{BTreeMap, BTreeSet};

use crate::processes::{self, Wait};
use crate::workers::Worker;

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
}

/// The threads of a program, by process and thread.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    threads: BTreeMap<(i32, i32), Known>,
    rounds: u32,
}

impl Discovery {
    /// Looks at all threads of the program whose first process is `root`, now that nothing is to be
    /// done: after a round of requests, or before the first.
    pub(crate) fn look(&mut self, root: i32) {
        for pid in processes::family(root).into_iter().map(|stat| stat.pid) {
            for thread in processes::threads(pid) {
                let Some((name, switches)) = processes::switches(&thread) else { continue };
                self.seen((pid, thread.tid), name, switches, processes::wait(&thread));
            }
        }
        self.rounds += 1;
    }

    fn seen(&mut self, thread: (i32, i32), name: String, switches: u64, wait: Wait) {
        let (place, is_new) = (self.threads.len(), !self.threads.contains_key(&thread));
        let known =
            self.threads.entry(thread).or_insert_with(|| Known { place, ..Known::default() });
        if !is_new && switches > known.switches {
            known.ran_in.insert(self.rounds);
        }
        (known.name, known.switches) = (name, switches);
        match wait {
            Wait::Epoll(fd) => {
                known.polls = true;
                known.epolls.insert(fd);
            }
            Wait::Poll => known.polls = true,
            Wait::Futex => known.is_woken = true,
            Wait::Running | Wait::Other => {}
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
        if self.share_a_poll() || self.rest_in_two_places() || self.wake_their_like() {
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

    /// Threads that never poll, named as a worker of their process is: one of them or another ran in
    /// half of all rounds or more. Those that write logs and the like are mostly named otherwise.
    fn wake_their_like(&self) -> bool {
        let workers: BTreeSet<(i32, &str)> = self
            .threads
            .iter()
            .filter(|(_, known)| known.polls)
            .map(|(&(pid, _), known)| (pid, known.name.as_str()))
            .collect();
        let like = self.threads.iter().filter(|(thread, known)| {
            !known.polls && known.is_woken && workers.contains(&(thread.0, known.name.as_str()))
        });
        let ran: BTreeSet<u32> = like.flat_map(|(_, known)| known.ran_in.iter().copied()).collect();
        // The first look was before the first round.
        let rounds = self.rounds.saturating_sub(1) as usize;
        rounds > 0 && 2 * ran.len() >= rounds
    }
}

#[cfg(test)]
mod tests;
