//! The worker's parts: tokens, a session's place, and the accept mutex over several hands, as nginx's
//! processes would have it.

use std::sync::Arc;

use proptest::prelude::*;

use super::acceptor::{AcceptLock, Mutex, Try};
use super::sessions::{GENERATIONS, LISTENER, Place, SessionKey, WAKER};
use crate::session::Peer;

/// A loop turn's work: who has an event, in their order, then who had yielded.
fn line_up(places: &mut [Place], events: &[usize], ready: &mut Vec<usize>) -> Vec<usize> {
    let named: Vec<usize> = events.iter().copied().chain(ready.drain(..)).collect();
    named.into_iter().filter(|session| places[*session].line_up()).collect()
}

#[test]
fn who_yielded_and_has_an_event_runs_once_and_stands_at_the_end_again() {
    let (mut places, mut ready) = ([Place::default(); 4], Vec::new());
    for (events, runs) in [
        (&[1, 2, 3, 2][..], &[1, 2, 3][..]),
        (&[2, 0], &[2, 0, 1, 3]),
        (&[], &[2, 1, 3]),
        (&[3], &[3, 2, 1]),
    ] {
        let work = line_up(&mut places, events, &mut ready);
        assert_eq!(work, runs);
        for session in work {
            places[session].begin_step();
            // All but the first yield, and once more at a deadline.
            if session != 0 {
                ready.extend((0..2).filter(|_| places[session].make_ready()).map(|_| session));
            }
        }
    }
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
}

fn hands(count: u32) -> Vec<Mutex> {
    let lock = Arc::new(AcceptLock::default());
    (0..count).map(|worker| Mutex::new(Arc::clone(&lock), worker)).collect()
}

#[test]
fn one_watches_and_the_next_takes_over_when_the_lock_is_free() {
    let mut hands = hands(2);
    for _ in 0..5 {
        assert_eq!(hands[0].try_lock(), Try::Watch, "it may keep the lock turn after turn");
        assert_eq!(hands[1].try_lock(), Try::Unwatch);
        // Only its owner can give it up.
        hands[1].unlock();
        assert_eq!(hands[1].try_lock(), Try::Unwatch);
        hands[0].unlock();
    }
    assert!(hands[0].is_held(), "it watches until a later try fails");
    assert_eq!(hands[1].try_lock(), Try::Watch);
    assert_eq!(hands[0].try_lock(), Try::Unwatch);
    assert!(!hands[0].is_held());
    hands[1].yield_to_others();
    assert!(!hands[1].is_held());
    assert_eq!(hands[1].try_lock(), Try::SatOut, "one that can accept nothing leaves it to others");
    assert_eq!(hands[0].try_lock(), Try::Watch);
}

#[test]
fn a_worker_with_few_sessions_left_sits_out_as_many_tries_as_it_has_too_many() {
    let mut hands = hands(1);
    let hand = &mut hands[0];
    for (used, sits_out) in [(0, 0), (13, 0), (14, 0), (15, 1), (16, 2)] {
        hand.accepted(used, 16);
        for _ in 0..sits_out {
            assert_eq!(hand.try_lock(), Try::SatOut, "{used} of 16");
            assert!(!hand.is_held(), "nginx sets NGX_POST_EVENTS where it has tried, and got it");
        }
        assert_eq!(hand.try_lock(), Try::Watch, "{used} of 16");
        hand.unlock();
    }
}

proptest! {
    /// Whatever workers do, in whatever order: two never have the lock, and it is never lost.
    #[test]
    fn the_lock_has_one_owner_and_comes_free(
        ops in prop::collection::vec((0..4usize, 0..3u8), 0..200),
    ) {
        let mut hands = hands(4);
        let mut owner = None;
        for (worker, op) in ops {
            match op {
                0 => match hands[worker].try_lock() {
                    Try::Watch => {
                        prop_assert_eq!(owner, None);
                        owner = Some(worker);
                    }
                    Try::Unwatch => prop_assert!(owner.is_some()),
                    Try::SatOut => {}
                },
                1 => {
                    hands[worker].unlock();
                    owner = owner.filter(|owner| *owner != worker);
                }
                _ => {
                    hands[worker].yield_to_others();
                    owner = owner.filter(|owner| *owner != worker);
                }
            }
        }
        for hand in &hands {
            hand.unlock();
        }
        prop_assert!(hands.iter_mut().any(|hand| hand.try_lock() == Try::Watch
            || hand.try_lock() == Try::Watch));
    }
}
