//! Sessions to be run, in order, each at most once.

use std::collections::{HashSet, VecDeque};
use std::hash::Hash;

/// An order without repetition. A yielded session that stood in it twice would get twice its share.
#[derive(Debug)]
pub(crate) struct Queue<K> {
    order: VecDeque<K>,
    members: HashSet<K>,
}

impl<K: Copy + Eq + Hash> Queue<K> {
    pub(crate) fn new() -> Self {
        Self { order: VecDeque::new(), members: HashSet::new() }
    }

    /// Puts `key` at the end, unless it is in already.
    pub(crate) fn push(&mut self, key: K) {
        if self.members.insert(key) {
            self.order.push_back(key);
        }
    }

    /// Takes the first.
    pub(crate) fn pop(&mut self) -> Option<K> {
        while let Some(key) = self.order.pop_front() {
            // One that was removed is still in the order; it is passed over here.
            if self.members.remove(&key) {
                return Some(key);
            }
        }
        None
    }

    /// Takes `key` out, wherever it stands. Whether it was in.
    pub(crate) fn remove(&mut self, key: K) -> bool {
        self.members.remove(&key)
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}
