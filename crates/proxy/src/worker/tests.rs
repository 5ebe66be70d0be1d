//! The worker's parts: tokens, and a session's place.

use proptest::prelude::*;

use super::sessions::{GENERATIONS, Place, SessionKey, WAKER};
use crate::listener::LISTENER;
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
