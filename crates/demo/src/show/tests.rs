use std::time::Duration;

use super::*;
use crate::tests::fixture::{self, at, idle_fetches, starved, tick, trial};

#[test]
fn the_acts_follow_each_other_by_themselves() {
    let mut show = fixture::closing();
    assert_eq!(show.act(), Act::Closing);
    // It began at 57 s.
    assert_eq!(tick(&mut show, 72_900), []);
    assert_eq!(tick(&mut show, 73_000), [Order::Leave(Leave::Done)]);
}

#[test]
fn the_whole_takes_what_was_promised() {
    for (timing, least, most) in [(Timing::STAGE, 85, 95), (Timing::FAST, 27, 33)] {
        let total = timing.total().as_secs();
        assert!((least..=most).contains(&total), "{total}");
    }
    // 10 fetches a second, 20 needed.
    assert!(Timing::FAST.idle >= Duration::from_millis(2_100));
}

#[test]
fn a_trial_ends_its_acts_and_no_clock_does() {
    let mut show = fixture::idle();
    assert_eq!(show.act(), Act::Idle(Side::Left));
    tick(&mut show, 3_600_000);
    assert_eq!(show.act(), Act::Idle(Side::Left));
    show.over(Side::Left, Err("gone".to_owned()));
    tick(&mut show, 3_600_100);
    assert_eq!(show.act(), Act::Result(Side::Left));
}

#[test]
fn a_hold_stops_every_act_and_a_second_one_lets_go() {
    let mut show = fixture::show();
    show.key(Key::Hold, at(5_000));
    assert!(show.is_held());
    assert_eq!(tick(&mut show, 50_000), []);
    show.key(Key::Hold, at(50_000));
    // One second was left.
    assert_eq!(tick(&mut show, 50_900), []);
    assert_eq!(tick(&mut show, 51_000), [Order::Start(Side::Left)]);

    let mut show = fixture::starving();
    show.key(Key::Hold, at(16_500));
    show.over(Side::Left, Err("gone".to_owned()));
    tick(&mut show, 30_000);
    assert_eq!(show.act(), Act::Load(Side::Left));
    show.key(Key::Hold, at(30_000));
    tick(&mut show, 30_000);
    assert_eq!(show.act(), Act::Result(Side::Left));
}

#[test]
fn next_goes_on_at_once_where_nothing_runs() {
    let mut show = fixture::show();
    show.key(Key::Hold, at(1_000));
    show.key(Key::Next, at(2_000));
    assert!(!show.is_held());
    assert_eq!(tick(&mut show, 2_000), [Order::Start(Side::Left)]);
    assert_eq!(show.act(), Act::Idle(Side::Left));

    let mut show = fixture::closing();
    show.key(Key::Next, at(60_000));
    assert_eq!(tick(&mut show, 60_000), [Order::Leave(Leave::Done)]);
}

#[test]
fn next_waits_until_a_phase_can_prove_something() {
    let mut show = fixture::show();
    tick(&mut show, 6_000);
    show.key(Key::Next, at(6_100));
    // Its manifest, and no fetch yet.
    trial(&mut show, Side::Left, &starved(), (6_000, 6_050));
    let some = idle_fetches(ENOUGH);
    some.iter().skip(1).for_each(|fetch| show.take(Side::Left, fetch));
    assert_eq!(tick(&mut show, 8_000), []);
    assert!(show.is_hastened());
    show.take(Side::Left, &some[0]);
    assert_eq!(tick(&mut show, 8_100), [Order::EndPhase(Side::Left)]);
    // Once is enough, whoever presses it again.
    show.key(Key::Next, at(8_150));
    assert_eq!(tick(&mut show, 8_200), []);

    let mut show = fixture::starving();
    show.key(Key::Next, at(16_500));
    assert_eq!(tick(&mut show, 16_500), [Order::EndPhase(Side::Left)]);
}

#[test]
fn leaving_is_possible_at_any_time_and_other_keys_mean_nothing() {
    for show in [fixture::show(), fixture::starving(), fixture::curing(), fixture::closing()] {
        for (key, leave) in [
            (Key::Quit, Some(Leave::Quit)),
            (Key::Interrupt, Some(Leave::Interrupt)),
            (Key::Other, None),
        ] {
            for held in [false, true] {
                let mut show = show.clone();
                if held {
                    show.key(Key::Hold, at(60_000));
                }
                let before = (show.act(), show.is_held());
                show.key(key, at(60_000));
                assert_eq!((show.act(), show.is_held()), before);
                let orders = show.tick(at(60_000));
                let left = orders.iter().find(|order| matches!(order, Order::Leave(_)));
                assert_eq!(left.copied(), leave.map(Order::Leave));
            }
        }
    }
}
