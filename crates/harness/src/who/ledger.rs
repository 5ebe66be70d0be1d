//! What is known of the watched processes: fed by looks; asked by lines, picture, summary and metrics.
//!
//! Not for: words, or for looking. It is pure.
//!
//! Invariants:
//! - A hold is told when it is first seen and, if it was open then, once more when it has ended. It counts
//!   once, when it has ended or the watch does.
//! - What counts up never counts down, as a scraper expects.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use probe::{Hold, HoldState, Moved, Seen, Turns};
use records::{Bytes, Micros, MonoNs};
use serde::Serialize;

use super::convoy::{Convoys, Held};
use super::names::Names;
use super::queues::Look;

#[cfg(test)]
mod tests;

/// A hold as it is told, in a line of JSON or of words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Told {
    pub(super) state: State,
    pub(super) pid: u32,
    /// The thread: the worker.
    pub(super) tid: u32,
    pub(super) comm: String,
    pub(super) began_ns: MonoNs,
    pub(super) length_us: Micros,
    pub(super) on_cpu_us: Micros,
    pub(super) runnable_us: Micros,
    pub(super) asleep_us: Micros,
    /// The call in which it slept longest.
    pub(super) asleep_in: Option<String>,
    pub(super) kind: Kind,
    /// The connection that moved most, absent where none moved a byte.
    pub(super) by: Option<Holder>,
    /// How many other connections of clients moved bytes in it.
    pub(super) others: usize,
    /// The most connections that were seen to wait in the worker's accept queues while it lasted, and the
    /// longest that these were seen not to be empty.
    pub(super) waiting: u32,
    pub(super) waiting_us: Micros,
}

/// Whether a hold lasts still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    Open,
    Closed,
}

/// What most of a hold was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// On a CPU, and bytes were moved.
    Moved,
    /// On a CPU, and none were.
    Computed,
    /// Asleep in a call other than its poll.
    Asleep,
    /// Ready to run, without a CPU.
    Runnable,
}

/// The connection that a hold served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Holder {
    /// Who dialed it, and who accepted it.
    pub(super) client: String,
    pub(super) server: String,
    /// Which of the two is the worker's own end.
    pub(super) own_end: OwnEnd,
    /// Where the bytes came from or went to, where no other could be meant.
    pub(super) upstream: Option<String>,
    /// Received and sent by the worker in the hold.
    pub(super) bytes: Bytes,
}

/// See [`Holder::own_end`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OwnEnd {
    Client,
    Server,
}

/// A thread that polls.
#[derive(Clone, Debug, Default)]
pub(super) struct Worker {
    pub(super) comm: String,
    pub(super) turns: Option<Turns>,
    /// Holds that have ended.
    pub(super) holds: BTreeMap<Kind, u64>,
    pub(super) held: Micros,
    pub(super) longest: Micros,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Queue {
    #[serde(skip)]
    pub(super) listener: SocketAddr,
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

/// See the module's head.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) threshold: Micros,
    names: Names,
    began: Option<MonoNs>,
    at: MonoNs,
    /// By process and thread.
    pub(super) workers: BTreeMap<(u32, u32), Worker>,
    /// Holds that last, the longest first.
    pub(super) open: Vec<Told>,
    /// Holds that have ended, the last first.
    pub(super) recent: VecDeque<Told>,
    holders: BTreeMap<(String, String), Holds>,
    pub(super) queues: BTreeMap<u64, Queue>,
    listeners: BTreeMap<u32, BTreeSet<u64>>,
    pub(super) lost: u64,
}

/// Holds that ended and are still shown.
const RECENT: usize = 64;
/// Connections that are remembered for having held; of more, those with the least time go.
const HOLDERS: usize = 1_000;

impl Ledger {
    pub(super) fn new(threshold: Micros, names: Names) -> Self {
        Self {
            threshold,
            names,
            began: None,
            at: MonoNs(0),
            workers: BTreeMap::new(),
            open: Vec::new(),
            recent: VecDeque::new(),
            holders: BTreeMap::new(),
            queues: BTreeMap::new(),
            listeners: BTreeMap::new(),
            lost: 0,
        }
    }

    /// Takes in a look; returns the holds that are to be told now.
    pub(super) fn take(&mut self, seen: &Seen, look: &Look) -> Vec<Told> {
        self.began.get_or_insert(seen.at);
        (self.at, self.lost) = (seen.at, seen.lost);
        self.look_at_queues(look);
        self.look_at_turns(seen);
        let before = std::mem::take(&mut self.open);
        let mut told = Vec::new();
        for hold in seen.closed.iter().chain(&seen.open) {
            let earlier = before.iter().find(|told| told.is(hold));
            let now = self.told(hold, earlier);
            match hold.state {
                HoldState::Closed => {
                    self.close(now.clone());
                    told.push(now);
                }
                HoldState::Open => {
                    if earlier.is_none() {
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

    /// For how long it is watched.
    pub(super) fn watched(&self) -> Duration {
        self.began.map_or(Duration::ZERO, |began| self.at.since(began))
    }

    /// How the own end of a connection is called.
    pub(super) fn own(&self, addr: SocketAddr) -> String {
        self.names.own(addr)
    }

    /// Time in holds of a worker, those that last with it.
    pub(super) fn held(&self, key: (u32, u32)) -> Micros {
        let ended = self.workers.get(&key).map_or(Micros(0), |worker| worker.held);
        let open = self.open.iter().filter(|told| (told.pid, told.tid) == key);
        open.fold(ended, |sum, told| sum_of(sum, told.length_us))
    }

    /// The connections that held, those with the most time first.
    pub(super) fn holders(&self) -> Vec<Holds> {
        let mut all: Vec<Holds> = self.holders.values().cloned().collect();
        all.sort_by_key(|holds| std::cmp::Reverse(holds.held_us));
        all
    }

    fn look_at_queues(&mut self, look: &Look) {
        self.listeners.clone_from(&look.of);
        for seen in &look.listeners {
            let queue = self.queues.entry(seen.inode).or_insert_with(|| Queue {
                listener: seen.addr,
                inode: seen.inode,
                limit: seen.limit,
                waiting: 0,
                waiting_us: Micros(0),
                most: 0,
                longest_us: Micros(0),
                since: None,
            });
            queue.waiting = seen.queue;
            queue.since = queue.since.or(Some(self.at)).filter(|_| seen.queue > 0);
            queue.waiting_us = queue.since.map_or(Micros(0), |since| self.at.micros_since(since));
            queue.most = queue.most.max(seen.queue);
            queue.longest_us = queue.longest_us.max(queue.waiting_us);
        }
        let gone = |inode: &u64| !look.listeners.iter().any(|seen| seen.inode == *inode);
        for (_, queue) in self.queues.iter_mut().filter(|(inode, _)| gone(inode)) {
            (queue.waiting, queue.waiting_us, queue.since) = (0, Micros(0), None);
        }
    }

    fn look_at_turns(&mut self, seen: &Seen) {
        for turns in &seen.turns {
            let key = (turns.pid, turns.tid);
            let worker = self.workers.entry(key).or_default();
            let of = |holds: &'_ [Hold]| {
                holds.iter().find(|hold| (hold.pid, hold.tid) == key).map(|hold| hold.length)
            };
            let held = match (of(&seen.open), of(&seen.closed)) {
                (Some(length), _) => Held::For(length),
                (None, Some(_)) => Held::Before,
                (None, None) => Held::Not,
            };
            worker.convoys.look(seen.at, turns, held, self.threshold);
            worker.comm.clone_from(&turns.comm);
            worker.turns = Some(turns.clone());
        }
        // A thread that has ended is remembered for what it did to others.
        let lives =
            |key: &(u32, u32)| seen.turns.iter().any(|turns| (turns.pid, turns.tid) == *key);
        self.workers.retain(|key, worker| {
            lives(key) || worker.held > Micros(0) || worker.convoys.longest().is_some()
        });
    }

    fn told(&mut self, hold: &Hold, earlier: Option<&Told>) -> Told {
        let none = BTreeSet::new();
        let inodes = self.listeners.get(&hold.pid).unwrap_or(&none);
        let queues: Vec<&Queue> =
            inodes.iter().filter_map(|inode| self.queues.get(inode)).collect();
        let waiting = queues.iter().map(|queue| queue.waiting).sum();
        let waiting_us = queues.iter().map(|queue| queue.waiting_us).max().unwrap_or_default();
        let ports: BTreeSet<u16> = queues.iter().map(|queue| queue.listener.port()).collect();
        let (by, others) = served(hold, &ports, &mut self.names);
        Told {
            state: match hold.state {
                HoldState::Open => State::Open,
                HoldState::Closed => State::Closed,
            },
            pid: hold.pid,
            tid: hold.tid,
            comm: hold.comm.clone(),
            began_ns: hold.began,
            length_us: hold.length,
            on_cpu_us: hold.on_cpu,
            runnable_us: hold.runnable,
            asleep_us: hold.asleep,
            asleep_in: hold.asleep_in.map(|call| call.to_string()),
            kind: Kind::of(hold),
            by,
            others,
            waiting: earlier.map_or(waiting, |told| waiting.max(told.waiting)),
            waiting_us: earlier.map_or(waiting_us, |told| waiting_us.max(told.waiting_us)),
        }
    }

    fn close(&mut self, told: Told) {
        let worker = self.workers.entry((told.pid, told.tid)).or_default();
        worker.comm.clone_from(&told.comm);
        *worker.holds.entry(told.kind).or_default() += 1;
        worker.held = sum_of(worker.held, told.length_us);
        worker.longest = worker.longest.max(told.length_us);
        if let Some(by) = &told.by {
            let key = (by.client.clone(), by.server.clone());
            let holds = self.holders.entry(key).or_insert_with(|| Holds {
                by: Holder { bytes: Bytes(0), ..by.clone() },
                holds: 0,
                held_us: Micros(0),
                longest_us: Micros(0),
            });
            holds.holds += 1;
            holds.held_us = sum_of(holds.held_us, told.length_us);
            holds.longest_us = holds.longest_us.max(told.length_us);
            holds.by.bytes += by.bytes;
            holds.by.upstream = holds.by.upstream.take().or_else(|| by.upstream.clone());
        }
        if self.holders.len() > 2 * HOLDERS {
            let least = self.holders().get(HOLDERS).map_or(Micros(0), |holds| holds.held_us);
            self.holders.retain(|_, holds| holds.held_us > least);
        }
        self.recent.push_front(told);
        self.recent.truncate(RECENT);
    }
}

impl Told {
    fn is(&self, hold: &Hold) -> bool {
        (self.pid, self.tid, self.began_ns) == (hold.pid, hold.tid, hold.began)
    }
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::Moved, Self::Computed, Self::Asleep, Self::Runnable];

    fn of(hold: &Hold) -> Self {
        let most = hold.on_cpu.max(hold.runnable).max(hold.asleep);
        match most {
            most if most == hold.asleep => Self::Asleep,
            most if most == hold.runnable => Self::Runnable,
            _ if hold.moved.is_empty() => Self::Computed,
            _ => Self::Moved,
        }
    }

    /// As records and labels have it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Moved => "moved",
            Self::Computed => "computed",
            Self::Asleep => "asleep",
            Self::Runnable => "runnable",
        }
    }
}

/// A client's connection that moved a hundredth of what an upstream did, or less, is not named as holder.
const SLIGHT: u64 = 100;

/// The connection that moved most in a hold, one of a client's where there is any that counts, and how many
/// others of clients there are.
///
/// A client's is one that came to a port on which the process listens; where that is not known, one to
/// which more was sent than came from it.
fn served(hold: &Hold, ports: &BTreeSet<u16>, names: &mut Names) -> (Option<Holder>, usize) {
    let is_client = |moved: &&Moved| {
        if ports.is_empty() {
            moved.written >= moved.read
        } else {
            ports.contains(&moved.local.port())
        }
    };
    let (clients, upstreams): (Vec<&Moved>, Vec<&Moved>) = hold.moved.iter().partition(is_client);
    // One that moved next to nothing beside an upstream is not whose step it was: an answer that goes
    // into a file, since its client's socket is full, leaves the byte or two of another client.
    let most = upstreams.first().map_or(0, |upstream| bytes(upstream).0);
    let client = clients.first().filter(|client| bytes(client).0.saturating_mul(SLIGHT) >= most);
    let holder = match (client, upstreams.first()) {
        (Some(first), _) => Some(Holder {
            client: names.peer(first.remote),
            server: names.own(first.local),
            own_end: OwnEnd::Server,
            upstream: leads(&clients, hold.moved_elsewhere)
                .and_then(|_| leads(&upstreams, hold.moved_elsewhere))
                .map(|upstream| names.peer(upstream.remote)),
            bytes: bytes(first),
        }),
        (None, Some(first)) => Some(Holder {
            client: names.own(first.local),
            server: names.peer(first.remote),
            own_end: OwnEnd::Client,
            upstream: None,
            bytes: bytes(first),
        }),
        (None, None) => None,
    };
    (holder, clients.len().saturating_sub(usize::from(client.is_some())))
}

/// The one that moved nine tenths or more of all that these and unknown others did.
fn leads<'a>(moved: &[&'a Moved], elsewhere: Bytes) -> Option<&'a Moved> {
    let all: Bytes = moved.iter().map(|moved| bytes(moved)).sum::<Bytes>() + elsewhere;
    let first = moved.first()?;
    (bytes(first).0 as f64 >= 0.9 * all.0 as f64).then_some(first)
}

fn bytes(moved: &Moved) -> Bytes {
    moved.read + moved.written
}

fn sum_of(one: Micros, other: Micros) -> Micros {
    Micros(one.0.saturating_add(other.0))
}
