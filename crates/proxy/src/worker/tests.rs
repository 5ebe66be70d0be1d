//! The worker's parts: tokens, the queue without repetition, lazy timers.

use proptest::prelude::*;
use records::MonoNs;

use super::queue::Queue;
use super::timers::{Look, Timers};
use super::token::{GENERATIONS, LISTENER, SessionKey, WAKER};
use crate::session::Peer;

#[test]
fn a_session_stands_in_the_queue_at_most_once() {
    let mut queue = Queue::new();
    for key in [1, 2, 1, 1, 3, 2] {
        queue.push(key);
    }
    assert_eq!(queue.len(), 3);
    let order: Vec<i32> = std::iter::from_fn(|| queue.pop()).collect();
    assert_eq!(order, [1, 2, 3]);
}

#[test]
fn what_was_removed_is_not_run_and_may_come_back_at_the_end() {
    let mut queue = Queue::new();
    [1, 2, 3].into_iter().for_each(|key| queue.push(key));
    queue.remove(2);
    assert_eq!(queue.pop(), Some(1));
    assert_eq!(queue.pop(), Some(3));
    assert!(queue.is_empty() && queue.pop().is_none());
    queue.push(2);
    assert_eq!(queue.pop(), Some(2));
}

#[test]
fn timers_come_up_in_order_and_not_before_their_time() {
    let look = |at, slot| Look { at: MonoNs(at), key: SessionKey { slot, generation: 0 } };
    let mut timers = Timers::default();
    timers.set(look(30, 1));
    timers.set(look(10, 2));
    assert_eq!(timers.first(), Some(MonoNs(10)));
    assert_eq!(timers.pop_due(MonoNs(9)), None);
    assert_eq!(timers.pop_due(MonoNs(30)), Some(look(10, 2)));
    assert_eq!(timers.pop_due(MonoNs(30)), Some(look(30, 1)));
    assert_eq!(timers.pop_due(MonoNs(30)), None);
}

proptest! {
    #[test]
    fn a_token_means_one_connection_of_one_session(
        slot: u32,
        generation in 0..GENERATIONS,
        upstream: bool,
    ) {
        let peer = if upstream { Peer::Upstream } else { Peer::Client };
        let key = SessionKey { slot, generation };
        let token = key.token(peer);
        prop_assert!(token != LISTENER && token != WAKER);
        prop_assert_eq!(SessionKey::of(token), (key, peer));
    }

    /// Whatever is pushed, popped and removed: no key is ever in twice.
    #[test]
    fn the_queue_never_repeats(ops in prop::collection::vec((0..3u8, 0..8u8), 0..200)) {
        let mut queue = Queue::new();
        let mut members = std::collections::BTreeSet::new();
        for (op, key) in ops {
            match op {
                0 => {
                    queue.push(key);
                    members.insert(key);
                }
                1 => {
                    queue.remove(key);
                    members.remove(&key);
                }
                _ => match queue.pop() {
                    Some(popped) => prop_assert!(members.remove(&popped)),
                    None => prop_assert!(members.is_empty()),
                },
            }
            prop_assert_eq!(queue.len(), members.len());
        }
    }
}
