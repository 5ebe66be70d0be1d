//! Steers downloads to workers: which connection to hang up and dial again, until every worker
//! holds its share; and knows which of them move. Pure: told what happened, it answers with orders.
//!
//! With a listener per worker the kernel hashes each connection (its ports, so a redial is a new
//! draw), and a worker without a download bounds the failed share. With a shared listener the
//! first idle worker accepts.
//!
//! Not for: judging the placement that came about. The summary does that from the records.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use records::{Accepted, Dialed, Placement, Record, Requests, SlowOrder};

#[cfg(test)]
mod tests;

/// The steering of one trial.
#[derive(Debug)]
pub struct Steering {
    aim: Aim,
    requests: Requests,
    downloads: usize,
    /// Redials that may still be ordered.
    budget: usize,
    /// Ports of downloads that are dialed and not yet hung up, by slot.
    dialed: BTreeMap<u32, u16>,
    /// The worker of each port that was accepted, also of ports not (yet) known as a download.
    accepted: HashMap<u16, u32>,
    /// The worker that holds each slot.
    held: BTreeMap<u32, u32>,
    /// Slots that have received something over the connection they have now.
    moving: BTreeSet<u32>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aim {
    /// Every worker holds `floor` downloads, and `extra` workers one more.
    Even { floor: usize, extra: usize },
    /// All on the worker of the first.
    First(Option<u32>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Steering,
    Done,
}

impl Steering {
    /// Steering for `downloads` over `workers`; there is none where the kernel's choice is to stay.
    pub fn new(placement: Placement, requests: Requests, downloads: u32, workers: u32) -> Self {
        let (downloads, workers) = (downloads as usize, workers.max(1) as usize);
        let stays = placement == Placement::Hash || downloads == 0;
        Self {
            aim: match placement {
                Placement::OneWorker => Aim::First(None),
                Placement::Spread | Placement::Hash => {
                    Aim::Even { floor: downloads / workers, extra: downloads % workers }
                }
            },
            requests,
            downloads,
            budget: Self::budget(downloads),
            dialed: BTreeMap::new(),
            accepted: HashMap::new(),
            held: BTreeMap::new(),
            moving: BTreeSet::new(),
            state: if stays { State::Done } else { State::Steering },
        }
    }

    /// Redials allowed for this many downloads. Filling the last of W workers takes W draws on
    /// average, so this is ample for as many workers as downloads, and ends a hopeless search.
    pub const fn budget(downloads: usize) -> usize {
        20 * downloads + 64
    }

    /// Nothing more will be ordered.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Whether every download has received something.
    pub fn all_move(&self) -> bool {
        self.moving.len() >= self.downloads
    }

    /// What a record of a role means for the downloads.
    pub fn observe(&mut self, record: &Record) -> Option<SlowOrder> {
        match record {
            Record::Dialed(dialed) => self.dialed(dialed),
            Record::Accepted(accepted) => self.accepted(accepted),
            Record::DownloadInterval(interval) => {
                let received = (0..).zip(&interval.bytes).filter(|(_, bytes)| bytes.0 > 0);
                self.moving.extend(received.map(|(slot, _)| slot));
                None
            }
            _ => None,
        }
    }

    /// A download's connection is open.
    fn dialed(&mut self, dialed: &Dialed) -> Option<SlowOrder> {
        self.dialed.insert(dialed.slot, dialed.client_port);
        self.held.remove(&dialed.slot);
        self.place(dialed.slot, dialed.client_port)
    }

    /// A worker accepted a connection, of a download or of something else.
    fn accepted(&mut self, accepted: &Accepted) -> Option<SlowOrder> {
        self.accepted.insert(accepted.client_port, accepted.worker);
        let slot = self.dialed.iter().find(|&(_, &port)| port == accepted.client_port)?.0;
        self.place(*slot, accepted.client_port)
    }

    /// The time for steering is over: live with what there is.
    pub fn give_up(&mut self) -> Option<SlowOrder> {
        (!self.is_done()).then(|| self.finish()).flatten()
    }

    /// Both ends of `slot`'s connection may be known now: keep it, or send it off.
    fn place(&mut self, slot: u32, port: u16) -> Option<SlowOrder> {
        if self.is_done() {
            return None;
        }
        let worker = *self.accepted.get(&port)?;
        if !self.is_surplus(worker) {
            self.held.insert(slot, worker);
            return if self.held.len() == self.downloads { self.finish() } else { None };
        }
        if self.budget == 0 {
            return self.finish();
        }
        self.budget -= 1;
        self.dialed.remove(&slot);
        self.moving.remove(&slot);
        self.accepted.remove(&port); // The kernel may give this port out again.
        Some(SlowOrder::Redial { client_port: port })
    }

    /// Whether one more download on `worker` is one too many.
    fn is_surplus(&mut self, worker: u32) -> bool {
        match self.aim {
            Aim::First(Some(first)) => worker != first,
            Aim::First(None) => {
                self.aim = Aim::First(Some(worker));
                false
            }
            Aim::Even { floor, extra } => {
                let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
                self.held.values().for_each(|&holder| *counts.entry(holder).or_default() += 1);
                let mine = counts.get(&worker).copied().unwrap_or(0);
                let above = counts.values().filter(|&&count| count > floor).count();
                mine > floor || (mine == floor && above >= extra)
            }
        }
    }

    fn finish(&mut self) -> Option<SlowOrder> {
        self.state = State::Done;
        (self.requests == Requests::Held).then_some(SlowOrder::Go)
    }
}
