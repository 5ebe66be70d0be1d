use records::{CounterSpan, Micros, Outcome, Phase, Watched};

use crate::tests::scene::{BUSY, Client, HALF_IDLE, Scene, Times, at};
use testkit::fixture::{Run, at_ms};

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
    let mut scene = Scene::of("workers 2; hold 0 d3 1000; fetch 0 queued 0..1000");
    scene.run.records.manifest.workers = Some(1);
    scene.run.records.sched.retain(|sample| sample.who != Watched::Worker(1));
    assert_eq!(scene.all_causes(), "held_by_step 1000");
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

const PORT: u16 = 5_000;

fn told(upstream_port: u16, asked: u64) -> Answered {
    Answered { upstream_port, request_ns: at(asked), head_ns: Some(at(asked + 1)) }
}

/// A session from 100 to 900 ms, of which the request was whole at 200 ms.
fn session() -> Session {
    let mut scene = Scene::new(1);
    scene.fetch(0, Times { request: Some(200), ..Times::awaiting(100, 900) });
    Session { upstream_port: Some(PORT), ..scene.session().clone() }
}

/// When the request was read that is told to be the session's.
fn found(told: &[Answered], session: &Session) -> Option<MonoNs> {
    Answers::of(told).to(session).map(|answered| answered.request_ns)
}

#[test]
fn a_session_asked_from_its_port_while_it_lasted() {
    let all = [(PORT, 901), (PORT, 300), (PORT, 199), (PORT + 1, 250), (PORT, 400)]
        .map(|(port, asked)| told(port, asked));
    assert_eq!(found(&all, &session()), Some(at(300)));
    assert_eq!(found(&all[..1], &session()), None, "it had ended");
    assert_eq!(found(&all[2..4], &session()), None, "one came before, one from elsewhere");
}

#[test]
fn the_bounds_of_a_session_are_its_own() {
    for asked in [200, 900] {
        assert_eq!(found(&[told(PORT, asked)], &session()), Some(at(asked)));
    }
}

#[test]
fn a_session_that_asked_nothing_has_no_answer() {
    let all = [told(PORT, 300)];
    assert_eq!(found(&all, &Session { upstream_port: None, ..session() }), None);
    assert_eq!(found(&all, &Session { request_ns: None, ..session() }), None);
    assert_eq!(found(&[], &session()), None);
}

/// A run with a listener per worker and two fetches, at 50 and 147 ms of the measure phase: the
/// first at worker 0, the second at worker 1.
fn run() -> Run {
    let mut run = Run::good();
    run.arm().proxy.reuseport = true;
    let idle = run.records.fetches.len() as u64;
    assert_eq!(idle % 2, 0, "the next fetch is worker 0's");
    run.fetches(Phase::Measure, 2, Outcome::Ok, 5_000);
    run
}

fn queues(run: &Run) -> Queues {
    Queues::of(&run.records, &Join::of(&run.records), &BTreeMap::new())
}

#[test]
fn a_worker_that_accepted_what_came_later_did_not_have_it() {
    let queues = queues(&run());
    let between = at_ms(5_100);
    assert!(queues.may_have(0, between), "its last accept came before");
    assert!(!queues.may_have(1, between), "it accepted one that came later");
    assert!(queues.may_have(7, between), "of this one nothing is known");
}

/// A command that makes a listener for each of its workers by itself.
#[test]
fn a_worker_whose_queue_was_empty_later_did_not_have_it() {
    let mut run = Run::good();
    run.arm().proxy.reuseport = false;
    run.records.manifest.listeners = vec![1, 2];
    run.listener(5_000, 0);
    run.listener(5_050, 3);
    let two = queues(&run);
    assert!(!two.may_have(0, at_ms(4_999)), "its queue was empty at 5 s");
    assert!(two.may_have(0, at_ms(5_000)) && two.may_have(1, at_ms(4_999)));

    run.records.manifest.listeners = vec![1];
    assert!(queues(&run).may_have(0, at_ms(4_999)), "a shared one says nothing of who took it");
}

#[test]
fn a_shared_queue_is_everybodys() {
    let mut run = run();
    run.arm().proxy.reuseport = false;
    assert!(queues(&run).may_have(1, at_ms(5_100)));
}
