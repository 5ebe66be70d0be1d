//! What is known of the watched processes: fed by looks; asked by lines, picture, summary and metrics.
//!
//! Not for: words, or for looking. It is pure.
//!
//! Invariants:
//! - A hold is told when it is first seen and, if it was open then, once more when it has ended. It counts
//!   once, when it has ended or the watch does.
//! - What counts up never counts down, as a scraper expects.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use probe::{Hold, HoldState, Seen, Turns};
use records::{Bytes, Micros, MonoNs};
use serde::{Serialize, Serializer};

use super::convoy::Convoys;
use super::holder::{Addresses, Holder, NEXT_TO_NOTHING, Names, bytes, served};
use super::queues::Look;

#[cfg(test)]
mod tests;

/// A hold as it is told, in a line of JSON or of words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Told {
    #[serde(flatten)]
    pub(super) hold: Hold,
    pub(super) kind: Kind,
    /// The connection that moved most, absent where none moved a byte.
    pub(super) by: Option<Holder>,
    /// How many other connections of clients moved bytes in it.
    pub(super) others: usize,
    /// The most connections that were seen to wait in the worker's accept queues while it lasted, and the
    /// longest that these were seen not to be empty.
    pub(super) waiting: u32,
    pub(super) waiting_us: Micros,
    /// Inodes of these listeners.
    #[serde(skip)]
    pub(super) listeners: Vec<u64>,
}

/// What most of a hold was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[derive(strum::VariantArray, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub(super) enum Kind {
    /// On a CPU, and bytes were moved.
    Moved,
    /// On a CPU, and none were, or no more than an answer of 4 KiB.
    Computed,
    /// Asleep in a call other than its poll.
    Asleep,
    /// Ready to run, without a CPU.
    Runnable,
}

/// A thread that polls.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Worker {
    #[serde(flatten)]
    pub(super) turns: Turns,
    /// Holds that have ended.
    pub(super) holds: BTreeMap<Kind, u64>,
    pub(super) held_us: Micros,
    pub(super) longest_us: Micros,
    #[serde(flatten)]
    pub(super) convoys: Convoys,
}

/// All holds of one connection.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Holds {
    #[serde(flatten)]
    pub(super) by: Holder,
    pub(super) holds: u64,
    pub(super) held_us: Micros,
    pub(super) longest_us: Micros,
}

/// The accept queue of one listener.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Queue {
    /// How it is written.
    pub(super) listener: String,
    #[serde(skip)]
    port: u16,
    /// Of the socket; several may listen on one address.
    pub(super) inode: u64,
    /// How many may wait; 0: not known.
    pub(super) limit: u32,
    pub(super) waiting: u32,
    /// For how long it has been seen not to be empty.
    pub(super) waiting_us: Micros,
    pub(super) most: u32,
    pub(super) longest_us: Micros,
    #[serde(skip)]
    since: Option<MonoNs>,
}

/// See the module's head. In JSON, the last line: all that was seen.
#[derive(Debug, Default, Serialize)]
pub(super) struct Ledger {
    /// For how long it is watched.
    pub(super) watched_us: Micros,
    #[serde(rename = "threshold_us")]
    pub(super) threshold: Micros,
    /// By process and thread.
    #[serde(serialize_with = "values")]
    pub(super) workers: BTreeMap<(u32, u32), Worker>,
    /// Connections that held, those with the most time first.
    pub(super) holders: Vec<Holds>,
    #[serde(serialize_with = "values")]
    pub(super) queues: BTreeMap<u64, Queue>,
    /// Holds that did not fit into the kernel's ring.
    pub(super) lost: u64,
    /// Holds that last, the longest first.
    #[serde(skip)]
    pub(super) open: Vec<Told>,
    /// Holds that have ended, the last first.
    #[serde(skip)]
    pub(super) recent: VecDeque<Told>,
    #[serde(skip)]
    names: Names,
    #[serde(skip)]
    began: Option<MonoNs>,
}

fn values<S: Serializer, K, V: Serialize>(map: &BTreeMap<K, V>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(map.values())
}

/// Holds that ended and are still shown.
const RECENT: usize = 64;
/// Connections that are remembered for having held; of more, those with the least time go.
const HOLDERS: usize = 1_000;

impl Ledger {
    pub(super) fn new(threshold: Micros, addresses: Addresses) -> Self {
        Self { threshold, names: Names::new(addresses), ..Self::default() }
    }

    /// Takes in a look; returns the holds that are to be told now.
    pub(super) fn take(&mut self, seen: Seen, look: &Look) -> Vec<Told> {
        let began = *self.began.get_or_insert(seen.at);
        (self.watched_us, self.lost) = (seen.at.micros_since(began), seen.lost);
        self.look_at_queues(seen.at, look);
        self.look_at_turns(&seen);
        let before = std::mem::take(&mut self.open);
        let mut told = Vec::new();
        for hold in seen.closed.into_iter().chain(seen.open) {
            let earlier = before.iter().find(|told| key(&told.hold) == key(&hold));
            let now = self.told(hold, earlier, look);
            match now.hold.state {
                HoldState::Closed => {
                    self.close(now.clone());
                    told.push(now);
                }
                HoldState::Open => {
                    if earlier.is_none_or(|earlier| earlier.by.is_none() && now.by.is_some()) {
                        told.push(now.clone());
                    }
                    self.open.push(now);
                }
            }
        }
        told
    }

    /// Holds that last still count as far as they came.
    pub(super) fn finish(&mut self) {
        std::mem::take(&mut self.open).into_iter().for_each(|told| self.close(told));
    }

    /// How long the hold has lasted that a worker is in; 0: it is in none.
    pub(super) fn open_us(&self, worker: &Worker) -> Micros {
        let of = (worker.turns.pid, worker.turns.tid);
        let mut open = self.open.iter().map(|told| &told.hold);
        open.find(|hold| (hold.pid, hold.tid) == of).map_or(Micros(0), |hold| hold.length_us)
    }

    /// Time in holds of a worker, with the one that lasts.
    pub(super) fn held(&self, worker: &Worker) -> Micros {
        sum_of(worker.held_us, self.open_us(worker))
    }

    fn look_at_queues(&mut self, at: MonoNs, look: &Look) {
        for queue in self.queues.values_mut() {
            queue.waiting = 0;
        }
        for seen in &look.listeners {
            let names = &self.names;
            let queue = self.queues.entry(seen.inode).or_insert_with(|| Queue {
                listener: names.own(seen.addr),
                port: seen.addr.port(),
                inode: seen.inode,
                limit: seen.limit,
                ..Queue::default()
            });
            queue.waiting = seen.queue;
        }
        for queue in self.queues.values_mut() {
            queue.since = queue.since.or(Some(at)).filter(|_| queue.waiting > 0);
            queue.waiting_us = queue.since.map_or(Micros(0), |since| at.micros_since(since));
            queue.most = queue.most.max(queue.waiting);
            queue.longest_us = queue.longest_us.max(queue.waiting_us);
        }
    }

    fn look_at_turns(&mut self, seen: &Seen) {
        for turns in &seen.turns {
            let of = (turns.pid, turns.tid);
            let is_in = |holds: &'_ [Hold]| {
                holds.iter().find(|hold| (hold.pid, hold.tid) == of).map(|hold| hold.length_us)
            };
            let held = is_in(&seen.open).or(is_in(&seen.closed).map(|_| Micros(0)));
            let worker = self.workers.entry(of).or_default();
            worker.convoys.look(seen.at, turns, held, self.threshold);
            worker.turns.clone_from(turns);
        }
        // A thread that has ended is remembered for what it did to others.
        let lives = |of: &(u32, u32)| seen.turns.iter().any(|turns| (turns.pid, turns.tid) == *of);
        self.workers.retain(|of, worker| {
            lives(of) || worker.held_us > Micros(0) || worker.convoys.longest.is_some()
        });
    }

    fn told(&mut self, hold: Hold, earlier: Option<&Told>, look: &Look) -> Told {
        let inodes = look.of.get(&hold.pid).into_iter().flatten();
        let queues: Vec<&Queue> = inodes.filter_map(|inode| self.queues.get(inode)).collect();
        let waiting = queues.iter().map(|queue| queue.waiting).sum();
        let waiting_us = queues.iter().map(|queue| queue.waiting_us).max().unwrap_or_default();
        let ports: BTreeSet<u16> = queues.iter().map(|queue| queue.port).collect();
        let listeners = queues.iter().map(|queue| queue.inode).collect();
        let (by, others) = served(&hold, &ports, &mut self.names);
        Told {
            kind: Kind::of(&hold),
            hold,
            by,
            others,
            waiting: earlier.map_or(waiting, |told| waiting.max(told.waiting)),
            waiting_us: earlier.map_or(waiting_us, |told| waiting_us.max(told.waiting_us)),
            listeners,
        }
    }

    fn close(&mut self, told: Told) {
        let Hold { pid, tid, length_us, .. } = told.hold;
        let worker = self.workers.entry((pid, tid)).or_insert_with(|| {
            let turns = Turns { pid, tid, comm: told.hold.comm.clone(), ..Turns::default() };
            Worker { turns, ..Worker::default() }
        });
        *worker.holds.entry(told.kind).or_default() += 1;
        worker.held_us = sum_of(worker.held_us, length_us);
        worker.longest_us = worker.longest_us.max(length_us);
        if let Some(by) = &told.by {
            self.held_by(by, length_us);
        }
        self.recent.push_front(told);
        self.recent.truncate(RECENT);
    }

    fn held_by(&mut self, by: &Holder, length_us: Micros) {
        let same = |holds: &Holds| (&holds.by.client, &holds.by.server) == (&by.client, &by.server);
        let at = self.holders.iter().position(same).unwrap_or(self.holders.len());
        let none = || Holds {
            by: Holder { bytes: Bytes(0), ..by.clone() },
            holds: 0,
            held_us: Micros(0),
            longest_us: Micros(0),
        };
        let mut holds = if at < self.holders.len() { self.holders.remove(at) } else { none() };
        holds.holds += 1;
        holds.held_us = sum_of(holds.held_us, length_us);
        holds.longest_us = holds.longest_us.max(length_us);
        holds.by.bytes += by.bytes;
        holds.by.upstream = holds.by.upstream.or_else(|| by.upstream.clone());
        // The last among those with as much time.
        let place = self.holders.partition_point(|other| other.held_us >= holds.held_us);
        self.holders.insert(place.min(HOLDERS - 1), holds);
        self.holders.truncate(HOLDERS);
    }
}

fn sum_of(one: Micros, other: Micros) -> Micros {
    Micros(one.0.saturating_add(other.0))
}

/// What tells one hold from another.
fn key(hold: &Hold) -> (u32, u32, MonoNs) {
    (hold.pid, hold.tid, hold.began_ns)
}

impl Kind {
    fn of(hold: &Hold) -> Self {
        let most = hold.on_cpu_us.max(hold.asleep_us).max(hold.runnable_us);
        let moved: Bytes = hold.moved.iter().map(bytes).sum();
        match most {
            most if most == hold.asleep_us => Self::Asleep,
            most if most == hold.runnable_us => Self::Runnable,
            _ if moved + hold.moved_elsewhere < NEXT_TO_NOTHING => Self::Computed,
            _ => Self::Moved,
        }
    }
}
