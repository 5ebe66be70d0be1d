//! Steers downloads to workers: which connection to hang up and dial again, until every worker
//! holds its share. Pure: told what happened, it answers with orders.
//!
//! With a listener per worker the kernel hashes each connection (its ports, so a redial is a new
//! draw), and a worker without a download bounds the failed share. With a shared listener the
//! first idle worker accepts.
//!
//! Not for: judging the placement that came about. The summary does that from the records.

use std::collections::{BTreeMap, HashMap};

use records::{Accepted, Dialed, Placement, SlowOrder};

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
    state: State,
}

/// When a download sends its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requests {
    /// On [`SlowOrder::Go`]: until then its worker is idle and accepts what comes.
    Held,
    /// As soon as it is connected.
    AtOnce,
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
    /// Steering for `downloads` over `workers`; `None` when the kernel's choice is to stay.
    pub fn new(
        placement: Placement,
        requests: Requests,
        downloads: u32,
        workers: u32,
    ) -> Option<Self> {
        let (downloads, workers) = (downloads as usize, workers.max(1) as usize);
        let aim = match placement {
            Placement::Hash => return None,
            Placement::Spread => {
                Aim::Even { floor: downloads / workers, extra: downloads % workers }
            }
            Placement::OneWorker => Aim::First(None),
        };
        (downloads > 0).then(|| Self {
            aim,
            requests,
            downloads,
            budget: Self::budget(downloads),
            dialed: BTreeMap::new(),
            accepted: HashMap::new(),
            held: BTreeMap::new(),
            state: State::Steering,
        })
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

    /// A download's connection is open.
    pub fn dialed(&mut self, dialed: &Dialed) -> Option<SlowOrder> {
        self.dialed.insert(dialed.slot, dialed.client_port);
        self.held.remove(&dialed.slot);
        self.place(dialed.slot, dialed.client_port)
    }

    /// A worker accepted a connection, of a download or of something else.
    pub fn accepted(&mut self, accepted: &Accepted) -> Option<SlowOrder> {
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
