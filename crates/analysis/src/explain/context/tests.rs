use records::{Cause, CounterSpan, Micros, Watched};

use crate::fixture::{BUSY, Client, HALF_IDLE, Scene, Times, at};

use super::*;

/// What `look` finds on the context of a scene.
fn on<T>(scene: &Scene, look: impl FnOnce(&Context<'_>) -> T) -> T {
    look(&Context::of(&scene.run.records))
}

#[test]
fn a_long_turn_is_found_from_inside() {
    let mut scene = Scene::new(2);
    scene.long_turn(0, 500, 700);
    scene.long_turn(0, 100, 200);
    let around = |worker, ms| on(&scene, |context| context.turn_around(worker, at(ms)));
    assert_eq!(
        [99, 100, 199, 200].map(|ms| around(0, ms)),
        [None, Some(at(200)), Some(at(200)), None]
    );
    assert_eq!((around(0, 600), around(1, 600)), (Some(at(700)), None));
}

#[test]
fn a_step_is_of_a_download_a_fetch_or_a_session() {
    let mut scene = Scene::new(1);
    let download = scene.download(5, 0);
    let fetch = scene.fetch(0, Times::body(0, 500));
    let clients = [download, scene.last_client(), scene.client(0)];
    let holds = clients.map(|client| scene.hold(client, 20, 0));
    let holders = on(&scene, |context| holds.map(|hold| context.holder(hold)));
    let [_, _, stranger] = clients;
    let fetch = scene.run.records.fetches[fetch].fetch;
    let expected = [Holder::Download(5), Holder::Fetch(fetch), Holder::Session(stranger.session)];
    assert_eq!(holders, expected.map(Some));
    assert_eq!(on(&scene, |context| context.holder(3)), None);
}

/// One port, three clients after each other; and one on the other worker.
#[test]
fn a_step_is_of_who_had_the_port_then() {
    let mut scene = Scene::new(2);
    for (worker, from) in [(0, 100), (0, 300), (1, 500), (0, 700)] {
        scene.fetch(worker, Times::body(from, from + 50));
    }
    let records = &mut scene.run.records;
    records.fetches.iter_mut().for_each(|fetch| fetch.client_port = Some(50_001));
    records.accepted.iter_mut().for_each(|accepted| accepted.client_port = 50_001);
    records.sessions.iter_mut().for_each(|session| session.client_port = 50_001);
    let mut holder = |ms: u64| {
        scene.lost(0, ms - scene.now(0));
        let hold = scene.hold(Client { worker: 0, session: 9, port: 50_001 }, 20, 0);
        on(&scene, |context| context.holder(hold))
    };
    assert_eq!(holder(50), Some(Holder::Session(9)));
    assert_eq!(holder(110), Some(Holder::Fetch(0)));
    assert_eq!(holder(310), Some(Holder::Fetch(1)));
    assert_eq!(holder(510), Some(Holder::Fetch(1)), "the third is on the other worker");
    assert_eq!(holder(710), Some(Holder::Fetch(3)));
}

/// Its own part of the short steps, where it had `steps_ms` in all, of which 20 ms in a hold.
fn own_part(steps_ms: u64) -> f64 {
    let mut scene = Scene::new(1);
    scene.turns(0, 100, HALF_IDLE);
    scene.turns(0, 50, BUSY);
    scene.fetch(0, Times::body(0, 170));
    scene.session().steps_us = Micros(steps_ms * 1_000);
    let own = scene.last_client();
    scene.hold(own, 20, 0);
    let session = scene.session().clone();
    on(&scene, |context| context.own_part(&session))
}

/// 100 ms of its life were short steps: 50 between polls, 50 without.
#[test]
fn its_own_part_is_of_the_time_in_short_steps() {
    for (steps, part) in [(20, 0.0), (10, 0.0), (45, 0.25), (120, 1.0), (5_000, 1.0)] {
        assert!((own_part(steps) - part).abs() < 1e-9, "{steps} ms: {}", own_part(steps));
    }
}

#[test]
fn a_session_without_a_worker_has_no_part() {
    let mut scene = Scene::new(1);
    scene.fetch(3, Times::body(0, 100));
    scene.session().steps_us = Micros(50_000);
    let session = scene.session().clone();
    assert!(on(&scene, |context| context.own_part(&session)).abs() < f64::EPSILON);
}

#[test]
fn any_worker_may_have_had_it_once_all_have_told_of_themselves() {
    let mut scene = Scene::new(2);
    let candidates = |scene: &Scene| on(scene, |context| context.candidates(at(300)).collect());
    scene.turns(0, 1_000, BUSY);
    let none: Vec<u32> = candidates(&scene);
    assert!(none.is_empty(), "of the second worker nothing is told");
    scene.turns(1, 1_000, BUSY);
    assert_eq!(candidates(&scene), [0, 1]);
}

/// A command that was asked for two workers and has one.
#[test]
fn the_only_worker_there_is_had_it() {
    let mut scene = Scene::new(2);
    let download = scene.download(3, 0);
    scene.run.records.manifest.workers = Some(1);
    scene.hold(download, 1_000, 0);
    let fetch = scene.fetch(0, Times::queued(0, 1_000));
    scene.look();
    scene.run.records.sched.retain(|sample| sample.who != Watched::Worker(1));
    assert_eq!(scene.causes(fetch), [(Cause::HeldByStep, 1_000)]);
    let late = scene.explain().late;
    let step = late.worst.and_then(|worst| worst.step).expect("a step");
    assert_eq!((step.holder, late.hidden), (Holder::Download(3), Vec::new()));
}

#[test]
fn a_worker_that_slept_later_did_not_have_it() {
    let mut scene = Scene::new(2);
    scene.run.arm().proxy.reuseport = true;
    scene.turns(0, 1_000, BUSY);
    scene.poll(1, 200);
    scene.turns(1, 300, BUSY);
    scene.poll(1, 500);
    let candidates = |ms| on(&scene, |context| context.candidates(at(ms)).collect::<Vec<u32>>());
    assert_eq!(candidates(300), [0]);
    assert_eq!(candidates(600), [0, 1], "it may have come while the poll returned");
}

#[test]
fn any_of_three_counters_shows_an_overflow() {
    let mut scene = Scene::new(1);
    assert_eq!(on(&scene, |context| context.overflow), Overflow::NotSeen);
    scene.run.records.manifest.kernel_counters.clear();
    assert_eq!(on(&scene, |context| context.overflow), Overflow::Hidden);
    let mut count = |name: &str, before, after| {
        let span = CounterSpan { before, after };
        scene.run.records.manifest.kernel_counters.insert(name.to_owned(), span);
        on(&scene, |context| context.overflow)
    };
    assert_eq!(count("TcpExt.TCPTimeouts", 1, 9), Overflow::Hidden, "says nothing of listeners");
    assert_eq!(count("TcpExt.ListenDrops", 5, 5), Overflow::NotSeen);
    assert_eq!(count("TcpExt.ListenOverflows", 9, 8), Overflow::NotSeen, "started anew");
    assert_eq!(count("TcpExt.TCPReqQFullDrop", 5, 6), Overflow::Seen);
}

#[test]
fn waits_are_shown_when_they_are_of_every_worker() {
    let mut scene = Scene::new(2);
    scene.poll(0, 100);
    let shows = |scene: &Scene| on(scene, |context| context.shows_waits());
    assert!(!shows(&scene));
    scene.look();
    assert!(shows(&scene));
    scene.run.records.sched.retain(|sample| sample.who == Watched::Worker(0));
    assert!(!shows(&scene));
}
