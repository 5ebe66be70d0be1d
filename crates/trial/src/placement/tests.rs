use std::collections::BTreeMap;

use proptest::prelude::*;
use records::MonoNs;

use super::*;

/// A slow client and a proxy that follow orders; `draw` says which worker gets a connection.
struct World {
    steering: Steering,
    worker_of: BTreeMap<u32, u32>,
    redials: usize,
    went: usize,
}

impl World {
    fn run(steering: Steering, slots: u32, mut draw: impl FnMut() -> u32) -> Self {
        let mut world = Self { steering, worker_of: BTreeMap::new(), redials: 0, went: 0 };
        let mut to_dial: Vec<u32> = (0..slots).rev().collect();
        for port in 1_000.. {
            let Some(slot) = to_dial.pop() else { break };
            let worker = draw();
            world.worker_of.insert(slot, worker);
            // The two pipes race: every second time the proxy's word is first.
            let mut told =
                [Record::Dialed(dialed(slot, port)), Record::Accepted(accepted(port, worker))];
            told.rotate_left(usize::from(port % 2));
            let orders = told.map(|record| world.steering.observe(&record));
            for order in orders.into_iter().flatten() {
                match order {
                    SlowOrder::Redial { client_port } => {
                        assert_eq!(client_port, port, "the last that was dialed");
                        world.redials += 1;
                        to_dial.push(slot);
                    }
                    SlowOrder::Go => world.went += 1,
                }
            }
        }
        world
    }

    fn shares(&self, workers: u32) -> Vec<usize> {
        (0..workers)
            .map(|worker| self.worker_of.values().filter(|&&held| held == worker).count())
            .collect()
    }
}

fn dialed(slot: u32, client_port: u16) -> Dialed {
    Dialed { slot, client_port, at_ns: MonoNs(0) }
}

fn accepted(client_port: u16, worker: u32) -> Accepted {
    Accepted { worker, session: 0, client_port, at_ns: MonoNs(0) }
}

fn steering(placement: Placement, downloads: u32, workers: u32) -> Steering {
    Steering::new(placement, Requests::Held, downloads, workers)
}

#[test]
fn one_worker_is_the_first_that_accepts() {
    let mut draws = [1, 0, 0, 1, 1].into_iter();
    let world =
        World::run(steering(Placement::OneWorker, 3, 2), 3, || draws.next().expect("a draw"));
    assert_eq!(world.shares(2), [0, 3]);
    assert_eq!((world.redials, world.went), (2, 1));
}

#[test]
fn a_hopeless_search_ends_with_its_budget() {
    let world = World::run(steering(Placement::Spread, 4, 2), 4, || 0);
    assert_eq!(world.shares(2), [4, 0]);
    assert_eq!(world.redials, Steering::budget(4));
    assert_eq!(world.went, 1);
}

#[test]
fn time_up_sends_what_is_there_once() {
    let mut steering = steering(Placement::Spread, 2, 2);
    assert_eq!(steering.dialed(&dialed(0, 1_000)), None);
    assert_eq!(steering.give_up(), Some(SlowOrder::Go));
    assert_eq!(steering.give_up(), None);
    assert_eq!(steering.accepted(&accepted(1_000, 0)), None);
}

#[test]
fn what_needs_no_steering_has_none() {
    let done = |placement, requests, downloads| {
        let mut steering = Steering::new(placement, requests, downloads, 1);
        let orders = [
            // Other connections are none of its business.
            steering.accepted(&accepted(9, 0)),
            steering.dialed(&dialed(0, 1_000)),
            steering.accepted(&accepted(1_000, 0)),
        ];
        (orders.into_iter().flatten().next(), steering.is_done())
    };
    let go = Some(SlowOrder::Go);
    assert_eq!(done(Placement::Hash, Requests::Held, 4), (None, true), "the kernel's choice");
    assert_eq!(done(Placement::Spread, Requests::Held, 0), (None, true), "no downloads");
    assert_eq!(done(Placement::Spread, Requests::AtOnce, 1), (None, true), "no request waits");
    assert_eq!(done(Placement::Spread, Requests::Held, 1), (go, true));
    assert_eq!(done(Placement::Spread, Requests::Held, 2), (None, false), "one is missing");
}

proptest! {
    /// Whatever the kernel draws: shares differ by at most one, or the budget is spent.
    #[test]
    fn shares_are_even(downloads in 1_u32..40, workers in 1_u32..17, seed in any::<u64>()) {
        let mut state = seed | 1;
        let world = World::run(steering(Placement::Spread, downloads, workers), downloads, || {
            // xorshift64: any spread of draws will do.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            u32::try_from(state % u64::from(workers)).expect("less than workers")
        });
        prop_assert_eq!(world.went, 1);
        prop_assert!(world.steering.is_done());
        let shares = world.shares(workers);
        let (least, most) = (shares.iter().min().expect("one"), shares.iter().max().expect("one"));
        prop_assert!(most - least <= 1 || world.redials == Steering::budget(downloads as usize));
    }
}
