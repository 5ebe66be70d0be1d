use std::collections::BTreeMap;

use probe::{Call, HoldState};

use super::*;
use crate::who::holder::OwnEnd;
use crate::who::tests::{
    CLIENT, WORKER, addr, at, calm, hold, ledger, seen, three_seconds, turns, waiting,
};

#[test]
fn a_hold_is_told_when_it_is_seen_and_when_it_has_ended() {
    let mut ledger = ledger();
    assert_eq!(ledger.take(seen(0, calm(0), vec![]), &waiting(0)), []);
    let open = |ms| vec![hold(100, ms, HoldState::Open)];
    let told = ledger.take(seen(200, calm(100), open(100)), &waiting(3));
    let [first] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((first.hold.state, first.hold.tid), (HoldState::Open, WORKER));
    assert_eq!((first.kind, first.hold.length_us), (Kind::Moved, Micros(100_000)));
    let by = first.by.as_ref().expect("a download");
    assert_eq!((&*by.client, &*by.server, by.own_end), (CLIENT, "10.0.0.2:8080", OwnEnd::Server));
    assert_eq!((by.upstream.as_deref(), by.bytes), (Some("10.0.1.3:80"), Bytes::mib(25)));
    assert_eq!((first.waiting, first.waiting_us), (3, Micros(0)));

    assert_eq!(ledger.take(seen(400, calm(100), open(300)), &waiting(7)), [], "it was told");
    assert_eq!((ledger.open[0].waiting, ledger.open[0].waiting_us), (7, Micros(200_000)));
    let closed = hold(100, 400, HoldState::Closed);
    let told = ledger.take(seen(600, calm(200), vec![closed]), &waiting(0));
    let [last] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((last.hold.state, last.hold.length_us), (HoldState::Closed, Micros(400_000)));
    assert_eq!((last.waiting, last.waiting_us), (7, Micros(200_000)), "the most while it lasted");
    assert!(ledger.open.is_empty());
}

#[test]
fn nobody_is_named_for_a_small_request_that_waited_for_a_cpu() {
    let mut ledger = ledger();
    ledger.take(seen(0, calm(0), vec![]), &waiting(0));
    let mut take = |ms, runnable: u64, moved| {
        let mut hold = hold(100, ms, HoldState::Open);
        hold.runnable_us = Micros(runnable * 1_000);
        hold.moved.truncate(1);
        (hold.moved[0].read, hold.moved[0].written) = (Bytes(0), moved);
        ledger.take(seen(100 + ms, calm(100), vec![hold]), &waiting(0))
    };
    let small = Bytes(268);
    assert!(matches!(&*take(90, 50, small), [Told { by: None, .. }]));
    assert_eq!(take(99, 50, small), [], "it was told");
    let told = take(190, 50, small);
    let [Told { by: Some(by), .. }] = &*told else { panic!("{told:?}") };
    assert_eq!(by.client, CLIENT, "it had a CPU for most of it, and is told again");
    drop(told);
    let mut robbed = hold(400, 90, HoldState::Open);
    robbed.runnable_us = Micros(50_000);
    let told = ledger.take(seen(500, calm(100), vec![robbed]), &waiting(0));
    assert!(matches!(&*told, [Told { by: Some(_), .. }]), "a download: {told:?}");
}

#[test]
fn a_hold_counts_once_and_one_that_lasts_counts_at_the_end() {
    let mut ledger = three_seconds();
    let worker = &ledger.workers[&(WORKER, WORKER)];
    assert_eq!(worker.holds, BTreeMap::from([(Kind::Moved, 1), (Kind::Asleep, 1)]));
    assert_eq!((worker.held_us, worker.longest_us), (Micros(2_500_000), Micros(2_400_000)));
    assert_eq!(ledger.held(worker), Micros(2_700_000), "with the one that lasts");
    ledger.finish();
    assert_eq!(ledger.held(&ledger.workers[&(WORKER, WORKER)]), Micros(2_700_000));
    let told: Vec<_> =
        ledger.holders.iter().map(|holds| (&*holds.by.client, holds.held_us)).collect();
    assert_eq!(told, [(CLIENT, Micros(2_400_000)), ("10.0.0.9:40404", Micros(200_000))]);
}

#[test]
fn what_most_of_a_hold_was_names_its_kind() {
    let of = |on_cpu, runnable, asleep| {
        let mut hold = hold(0, 100, HoldState::Closed);
        (hold.on_cpu_us, hold.runnable_us, hold.asleep_us) =
            (Micros(on_cpu), Micros(runnable), Micros(asleep));
        hold
    };
    assert_eq!(Kind::of(&of(60_000, 20_000, 20_000)), Kind::Moved);
    assert_eq!(Kind::of(&of(20_000, 60_000, 20_000)), Kind::Runnable);
    assert_eq!(Kind::of(&of(20_000, 20_000, 60_000)), Kind::Asleep);
    let computed = Hold { moved: Vec::new(), ..of(90_000, 10_000, 0) };
    assert_eq!(Kind::of(&computed), Kind::Computed);
    // One that was not given a CPU is nobody's, whoever's request it had read.
    let asked = Some(hold(0, 100, HoldState::Closed).moved.swap_remove(0));
    let robbed = Hold { asked, moved: Vec::new(), ..of(20_000, 60_000, 20_000) };
    let mut ledger = ledger();
    for hold in [computed, robbed] {
        let told = ledger.take(seen(200, calm(0), vec![hold]), &waiting(0));
        assert_eq!((&told[0].by, told[0].others), (&None, 0));
    }
}

#[test]
fn only_an_upstream_that_could_be_no_others_is_named() {
    fn second(hold: &mut Hold, of: usize, remote: &str) {
        let mut second = hold.moved[of];
        second.remote = addr(remote);
        hold.moved.push(second);
    }
    let (own, upstream) = ("10.0.0.2:40000", Some("10.0.1.3:80"));
    for (what, change, by) in [
        ("one of each", (|_| ()) as fn(&mut Hold), (CLIENT, upstream, 0)),
        ("two clients", |hold| second(hold, 0, "10.0.0.8:1"), (CLIENT, None, 1)),
        ("two upstreams", |hold| second(hold, 1, "10.0.1.4:80"), (CLIENT, None, 0)),
        ("unknown", |hold| hold.moved_elsewhere = Bytes::mib(25), (CLIENT, None, 0)),
        ("only one that the worker dialed", |hold| _ = hold.moved.remove(0), (own, None, 0)),
        ("it computes", |hold| hold.asked = hold.moved.drain(..).next(), (CLIENT, None, 0)),
        ("it asks another", |hold| hold.asked = Some(hold.moved.remove(0)), (CLIENT, upstream, 0)),
        // An answer goes into a file, while another client got the end of its own.
        (
            "spooled",
            |hold| (hold.moved[0].read, hold.moved[0].written) = (Bytes(70), Bytes(0)),
            (own, None, 1),
        ),
    ] {
        let mut hold = hold(0, 100, HoldState::Closed);
        change(&mut hold);
        let told = ledger().take(seen(200, calm(0), vec![hold]), &waiting(0));
        let named = told[0].by.as_ref().expect("a connection");
        assert_eq!((&*named.client, named.upstream.as_deref(), told[0].others), by, "{what}");
    }
}

#[test]
fn hosts_may_be_numbers_and_calls_have_names() {
    let mut ledger = Ledger::new(Micros(50_000), Addresses::Hidden);
    let mut other = hold(150, 50, HoldState::Closed);
    other.moved[0].remote = addr("10.0.0.8:1");
    other.asleep_in = Some(Call::PageFault);
    let holds = vec![hold(0, 100, HoldState::Closed), other, hold(200, 90, HoldState::Closed)];
    let told = ledger.take(seen(300, calm(0), holds), &waiting(0));
    let clients: Vec<_> = told.iter().filter_map(|told| Some(&*told.by.as_ref()?.client)).collect();
    assert_eq!(clients, ["host1:51234", "host3:1", "host1:51234"]);
    let text = serde_json::to_string(&told).expect("JSON");
    assert!(!text.contains("10.0.") && text.contains("\"asleep_in\":\"page fault\""), "{text}");
}

#[test]
fn a_queue_ages_until_it_is_empty() {
    let mut ledger = ledger();
    let mut of = |ms, queue| {
        ledger.take(seen(ms, calm(ms), vec![]), &waiting(queue));
        let queue = ledger.queues.values().next().expect("a queue").clone();
        (queue.waiting, queue.waiting_us, queue.most, queue.longest_us)
    };
    assert_eq!(of(0, 2), (2, Micros(0), 2, Micros(0)));
    assert_eq!(of(500, 5), (5, Micros(500_000), 5, Micros(500_000)));
    assert_eq!(of(600, 0), (0, Micros(0), 5, Micros(500_000)));
    assert_eq!(of(700, 1), (1, Micros(0), 5, Micros(500_000)));
}

#[test]
fn long_turns_without_a_pause_are_a_convoy() {
    // Turns so far at each second, of this length; which of them had a hold.
    let convoys = |each: u64, counts: [u64; 5], held: Option<usize>| {
        let mut ledger = ledger();
        for (second, count) in counts.into_iter().enumerate() {
            let ms = second as u64 * 1_000;
            let hold =
                held.filter(|held| *held == second).map(|_| hold(ms - 100, 60, HoldState::Closed));
            let seen = seen(ms, turns(count, Micros(each)), hold.into_iter().collect());
            ledger.take(seen, &waiting(0));
        }
        let convoys = &ledger.workers[&(WORKER, WORKER)].convoys;
        (convoys.count, convoys.longest.map(|longest| (longest.length_us.as_secs(), longest.turns)))
    };
    assert_eq!(convoys(10_000, [0, 95, 190, 280, 290], None), (1, Some((3.0, 280))));
    assert_eq!(convoys(10_000, [0, 95, 100, 195, 290], None), (2, Some((2.0, 190))));
    assert_eq!(convoys(10_000, [0, 95, 190, 285, 380], Some(2)), (2, Some((2.0, 190))));
    assert_eq!(convoys(1_000, [0, 950, 1_900, 2_850, 3_800], None), (0, None), "short turns");
    assert_eq!(convoys(10_000, [0, 50, 100, 150, 200], None), (0, None), "half idle");
}

#[test]
fn threads_that_have_ended_are_remembered_for_what_they_did() {
    let mut ledger = three_seconds();
    let gone = Seen { at: at(4_000), ..Seen::default() };
    ledger.take(gone.clone(), &waiting(0));
    assert!(ledger.workers.contains_key(&(WORKER, WORKER)));
    let mut calm_ledger = self::ledger();
    calm_ledger.take(seen(0, calm(0), vec![]), &waiting(0));
    calm_ledger.take(gone, &waiting(0));
    assert!(calm_ledger.workers.is_empty());
}
