use proptest::prelude::*;
use records::MonoNs;

use super::*;

fn dialed(slot: u32, client_port: u16) -> Dialed {
    Dialed { slot, client_port, at_ns: MonoNs(0) }
}

fn accepted(worker: u32, client_port: u16) -> Accepted {
    Accepted { worker, session: 0, client_port, at_ns: MonoNs(0) }
}

#[test]
fn a_good_draw_is_left_alone() {
    let mut spread = Spread::new(2, 2);
    for (slot, worker) in [(0, 0), (1, 1), (2, 1), (3, 0)] {
        let port = 1_000 + u16::try_from(slot).unwrap();
        assert!(!spread.is_even());
        assert_eq!(spread.dialed(&dialed(slot, port)), None);
        assert_eq!(spread.accepted(&accepted(worker, port)), None);
    }
    assert!(spread.is_even());
    assert_eq!(spread.holders(), [Some(0), Some(1), Some(1), Some(0)]);
}

#[test]
fn one_too_many_is_dialled_again() {
    let mut spread = Spread::new(2, 2);
    for slot in 0..3_u16 {
        assert_eq!(spread.accepted(&accepted(0, slot)), None); // Known from the proxy first.
    }
    assert_eq!(spread.dialed(&dialed(0, 0)), None);
    assert_eq!(spread.dialed(&dialed(1, 1)), None);
    let order = spread.dialed(&dialed(2, 2));
    assert_eq!(order, Some(SlowOrder::Redial { client_port: 2 }));
    assert_eq!(spread.by_worker(), [2, 0]);
    assert_eq!(spread.holders(), [Some(0), Some(0), None, None]);
}

#[test]
fn the_port_of_a_fetch_is_no_download() {
    let mut spread = Spread::new(1, 1);
    assert_eq!(spread.accepted(&accepted(0, 7)), None);
    assert_eq!(spread.accepted(&accepted(0, 8)), None);
    assert_eq!(spread.by_worker(), [0]);
    assert_eq!(spread.dialed(&dialed(0, 8)), None);
    assert!(spread.is_even());
}

#[test]
fn a_hopeless_search_ends_and_its_placement_is_told() {
    let mut spread = Spread::new(2, 1);
    spread.dialed(&dialed(0, 0));
    spread.accepted(&accepted(0, 0));
    let mut redials = 0;
    for port in 1..1_000 {
        spread.dialed(&dialed(1, port));
        match spread.accepted(&accepted(0, port)) {
            Some(_) => redials += 1,
            None => break,
        }
    }
    assert_eq!(redials, 2 * TRIES);
    assert_eq!(spread.by_worker(), [2, 0]);
    assert!(!spread.is_even());
}

#[test]
fn a_redial_that_comes_after_the_time_stays_where_it_is() {
    let mut spread = Spread::new(2, 1);
    spread.dialed(&dialed(0, 0));
    spread.accepted(&accepted(1, 0));
    spread.dialed(&dialed(1, 1));
    assert!(spread.accepted(&accepted(1, 1)).is_some());
    spread.give_up();
    assert!(!spread.is_settled());
    assert_eq!(spread.dialed(&dialed(1, 2)), None);
    assert_eq!(spread.accepted(&accepted(1, 2)), None);
    assert!(spread.is_settled());
    assert_eq!(spread.holders(), [Some(1), Some(1)]);
}

proptest! {
    /// However the kernel hashes, as long as no worker is out of its reach, all get their share.
    #[test]
    fn any_draw_ends_even(workers in 1_u32..5, per_worker in 1_u32..4, seed in any::<u64>()) {
        let mut spread = Spread::new(workers, per_worker);
        spread.redials_left = u32::MAX;
        let mut state = seed | 1;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            u32::try_from(state >> 33).unwrap() % workers
        };
        let mut slots: Vec<u32> = (0..workers * per_worker).rev().collect();
        let mut slot_of = HashMap::new();
        let mut port = 0_u16;
        while let Some(slot) = slots.pop() {
            port = port.checked_add(1).expect("it takes fewer draws");
            slot_of.insert(port, slot);
            prop_assert_eq!(spread.dialed(&dialed(slot, port)), None);
            if let Some(SlowOrder::Redial { client_port }) = spread.accepted(&accepted(draw(), port)) {
                slots.push(slot_of[&client_port]);
            }
        }
        prop_assert!(spread.is_even());
    }
}
