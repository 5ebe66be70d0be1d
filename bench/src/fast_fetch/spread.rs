//! Gets every worker its share of the downloads: hangs up those that a worker has too many of and
//! has them dialled again, which is a new draw of the kernel's. Pure: told what happened, it says
//! what to do.

use std::collections::{BTreeMap, HashMap};

use records::{Accepted, Dialed, SlowOrder};

#[cfg(test)]
mod tests;

/// Redials that are tried at most for one download. The chance that a worker of two is missed
/// twenty times is one in a million.
const TRIES: u32 = 20;

/// Who holds what.
#[derive(Debug)]
pub(super) struct Spread {
    workers: u32,
    per_worker: u32,
    redials_left: u32,
    /// The port of each slot whose connection stands.
    dialed: BTreeMap<u32, u16>,
    /// The worker of each port, also of ports not (yet) known as a download's.
    accepted: HashMap<u16, u32>,
}

impl Spread {
    /// `per_worker` downloads for each of `workers`.
    pub(super) fn new(workers: u32, per_worker: u32) -> Self {
        Self {
            workers,
            per_worker,
            redials_left: workers.saturating_mul(per_worker).saturating_mul(TRIES),
            dialed: BTreeMap::new(),
            accepted: HashMap::new(),
        }
    }

    /// A download's connection stands.
    pub(super) fn dialed(&mut self, dialed: &Dialed) -> Option<SlowOrder> {
        self.dialed.insert(dialed.slot, dialed.client_port);
        self.redial()
    }

    /// A worker accepted a connection.
    pub(super) fn accepted(&mut self, accepted: &Accepted) -> Option<SlowOrder> {
        self.accepted.insert(accepted.client_port, accepted.worker);
        self.redial()
    }

    /// The time is over: no more redials, whatever came of the last.
    pub(super) fn give_up(&mut self) {
        self.redials_left = 0;
    }

    /// Whether the worker of every download is known.
    pub(super) fn is_settled(&self) -> bool {
        self.holders().iter().all(Option::is_some)
    }

    /// Whether every worker holds its share.
    pub(super) fn is_even(&self) -> bool {
        self.by_worker().iter().all(|&held| held == self.per_worker)
    }

    /// The worker of each slot; `None` while one of its ends is not known.
    pub(super) fn holders(&self) -> Vec<Option<u32>> {
        (0..self.workers.saturating_mul(self.per_worker)).map(|slot| self.holder(slot)).collect()
    }

    /// How many downloads each worker holds.
    pub(super) fn by_worker(&self) -> Vec<u32> {
        let held = |worker| self.holders().iter().filter(|&&holder| holder == Some(worker)).count();
        (0..self.workers).map(|worker| u32::try_from(held(worker)).unwrap_or(u32::MAX)).collect()
    }

    fn holder(&self, slot: u32) -> Option<u32> {
        self.accepted.get(self.dialed.get(&slot)?).copied()
    }

    /// Sends off the last download of a worker that holds too many.
    fn redial(&mut self) -> Option<SlowOrder> {
        let held = self.by_worker();
        let surplus = held.iter().position(|&held| held > self.per_worker)?;
        let slot = self.dialed.keys().copied().rfind(|&slot| {
            self.holder(slot).and_then(|worker| usize::try_from(worker).ok()) == Some(surplus)
        })?;
        self.redials_left = self.redials_left.checked_sub(1)?;
        let client_port = self.dialed.remove(&slot)?;
        self.accepted.remove(&client_port); // The kernel may give this port out again.
        Some(SlowOrder::Redial { client_port })
    }
}
