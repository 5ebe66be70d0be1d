//! Deadlines of sessions.
//!
//! A session that moves puts its deadline off at every step; the heap hears of that only when the
//! old deadline comes up, so moving costs nothing here. A deadline that comes nearer is told at
//! once; the look it replaces is passed over when it comes up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use records::MonoNs;

use super::token::SessionKey;

/// The next look at each session, earliest first.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<Look>>,
}

/// When to look at a session. Of several looks at one session only the one its owner keeps counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Look {
    pub(crate) at: MonoNs,
    pub(crate) key: SessionKey,
}

impl Timers {
    pub(crate) fn set(&mut self, look: Look) {
        self.heap.push(Reverse(look));
    }

    /// When the first look is due.
    pub(crate) fn first(&self) -> Option<MonoNs> {
        self.heap.peek().map(|Reverse(look)| look.at)
    }

    /// Takes a look that is due by `now`.
    pub(crate) fn pop_due(&mut self, now: MonoNs) -> Option<Look> {
        if self.first()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(look)| look)
    }
}
