//! Whose listener's queue a fetch was in that no worker accepted.
//!
//! With a listener per worker the kernel chose one, and does not say which; but a queue is first in,
//! first out. A worker that accepted a connection which came later did not have this one; nor did a
//! worker that slept in its poll after it came, since nginx's listeners, and the mirror's, are
//! level-triggered; nor one whose queue was seen empty after it came.

use std::collections::BTreeMap;

use records::{MonoNs, RunRecords};

use super::timeline::{Doing, Timeline};
use crate::join::Join;

/// Until when each worker's queue is known to have been emptied, worker by worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Queues {
    emptied: BTreeMap<u32, MonoNs>,
}

impl Queues {
    /// What the accepts and the polls of a run tell. Nothing when the listener is shared: then there
    /// is one queue, and it is everybody's.
    pub(crate) fn of(
        records: &RunRecords,
        join: &Join<'_>,
        timelines: &BTreeMap<u32, Timeline>,
    ) -> Self {
        let mut queues = Self::default();
        let inodes = &records.manifest.listeners;
        // A command that was given no toggle may listen so as well: a single inode is shared.
        if !records.manifest.arm.proxy.reuseport && inodes.len() < 2 {
            return queues;
        }
        for (worker, inode) in (0..).zip(inodes) {
            let seen = records.listeners.iter().filter(|sample| sample.inode == *inode);
            let empty = seen.filter(|sample| sample.queue == 0).map(|sample| sample.at_ns);
            queues.emptied_until(worker, empty.max().unwrap_or_default());
        }
        for (index, fetch) in records.fetches.iter().enumerate() {
            if let Some(connection) = join.fetch(index) {
                queues.emptied_until(connection.worker, fetch.start_ns);
            }
        }
        for (worker, timeline) in timelines {
            let mut segments = timeline.segments.iter().rev();
            if let Some(last) = segments.find(|segment| segment.doing == Doing::Polling) {
                // At its return something may just have come: at its start nothing was there.
                queues.emptied_until(*worker, last.window.start);
            }
        }
        queues
    }

    /// Whether a connection that came at `arrived` and was never accepted may be in the queue of
    /// `worker`.
    pub(crate) fn may_have(&self, worker: u32, arrived: MonoNs) -> bool {
        self.emptied.get(&worker).is_none_or(|emptied| *emptied <= arrived)
    }

    fn emptied_until(&mut self, worker: u32, at: MonoNs) {
        let emptied = self.emptied.entry(worker).or_default();
        *emptied = at.max(*emptied);
    }
}

#[cfg(test)]
mod tests;
