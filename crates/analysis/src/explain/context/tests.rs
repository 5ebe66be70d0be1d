use records::{CounterSpan, Outcome, Phase, Watched};

use crate::tests::scene::{Scene, at};
use testkit::fixture::{Run, at_ms};

use super::*;

#[test]
fn a_long_turn_is_found_from_inside() {
    let scene = Scene::of("workers 2; turn 0 500..700; turn 0 100..200");
    let context = Context::of(&scene.run.records);
    let around = |worker, ms| context.turn_around(worker, at(ms));
    let found = [99, 100, 199, 200].map(|ms| around(0, ms));
    assert_eq!(found, [None, Some(at(200)), Some(at(200)), None]);
    assert_eq!((around(0, 600), around(1, 600)), (Some(at(700)), None));
}

#[test]
fn a_step_is_of_a_download_a_fetch_or_a_session() {
    let scene = Scene::of("fetch 0 body 0..500; hold 0 d5 20; hold 0 own 20; hold 0 nobody 20");
    let context = Context::of(&scene.run.records);
    let holders = [0, 1, 2, 3].map(|hold| context.holder(hold));
    let expected = [Holder::Download(5), Holder::Fetch(0), Holder::Session(1)].map(Some);
    assert_eq!((&holders[..3], holders[3]), (&expected[..], None));
}

/// One port, three clients after each other; and one on the other worker.
#[test]
fn a_step_is_of_who_had_the_port_then() {
    let fetches = [(0, 100), (0, 300), (1, 500), (0, 700)]
        .map(|(worker, from)| format!("fetch {worker} body {from}..{} port=50001;", from + 50));
    // Steps at 50, 110, 310, 510 and 710 ms.
    let holds = [50, 40, 180, 180, 180]
        .map(|before| format!("lost 0 {before}; hold 0 nobody 20 port=50001;"));
    let scene = Scene::of(&format!("workers 2; {}{}", fetches.concat(), holds.concat()));
    let context = Context::of(&scene.run.records);
    let holders = [0, 1, 2, 3, 4].map(|hold| context.holder(hold));
    let [first, second, last] = [0, 1, 3].map(Holder::Fetch);
    // The third is on the other worker.
    assert_eq!(holders, [Holder::Session(1), first, second, second, last].map(Some));
}

/// 100 ms of its life were short steps, 50 between polls and 50 without; it had so many ms of steps in
/// all, of which 20 in a hold.
#[test]
fn its_own_part_is_of_the_time_in_short_steps() {
    let own_part = |script: &str| {
        let mut scene = Scene::of(script);
        let session = scene.session().clone();
        Context::of(&scene.run.records).own_part(&session)
    };
    for (steps, part) in [(20, 0.0), (10, 0.0), (45, 0.25), (120, 1.0), (5_000, 1.0)] {
        let own = own_part(&format!(
            "turns 0 100 turn=100 poll=50; turns 0 50; fetch 0 body 0..170; steps {steps}; hold 0 own 20"
        ));
        assert!((own - part).abs() < 1e-9, "{steps} ms: {own}");
    }
    let alone = own_part("fetch 3 body 0..100; steps 50");
    assert!(alone.abs() < f64::EPSILON, "of its worker nothing is told: {alone}");
}

/// Who may have had a connection that came at `ms` and was never accepted.
fn candidates(script: &str, ms: u64) -> Vec<u32> {
    Context::of(&Scene::of(script).run.records).candidates(at(ms)).collect()
}

#[test]
fn any_worker_may_have_had_it_once_all_have_told_of_themselves() {
    assert_eq!(
        candidates("workers 2; turns 0 1000", 300),
        [0_u32; 0],
        "of the second nothing is told"
    );
    assert_eq!(candidates("workers 2; turns 0 1000; turns 1 1000", 300), [0, 1]);
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
    let script = "workers 2; reuseport; turns 0 1000; poll 1 200; turns 1 300; poll 1 500";
    assert_eq!(candidates(script, 300), [0]);
    assert_eq!(candidates(script, 600), [0, 1], "it may have come while the poll returned");
}

#[test]
fn any_of_three_counters_shows_an_overflow() {
    let mut scene = Scene::of("");
    assert_eq!(Context::of(&scene.run.records).overflow, Overflow::NotSeen);
    scene.run.records.manifest.kernel_counters.clear();
    assert_eq!(Context::of(&scene.run.records).overflow, Overflow::Hidden);
    for (name, before, after, expected) in [
        // It says nothing of listeners.
        ("TcpExt.TCPTimeouts", 1, 9, Overflow::Hidden),
        ("TcpExt.ListenDrops", 5, 5, Overflow::NotSeen),
        // Started anew.
        ("TcpExt.ListenOverflows", 9, 8, Overflow::NotSeen),
        ("TcpExt.TCPReqQFullDrop", 5, 6, Overflow::Seen),
    ] {
        let span = CounterSpan { before, after };
        scene.run.records.manifest.kernel_counters.insert(name.to_owned(), span);
        assert_eq!(Context::of(&scene.run.records).overflow, expected, "{name}");
    }
}

#[test]
fn waits_are_shown_when_they_are_of_every_worker() {
    let mut scene = Scene::of("blind; workers 2; poll 0 100");
    let shows = |scene: &Scene| Context::of(&scene.run.records).shows_waits();
    assert!(!shows(&scene));
    scene.look();
    assert!(shows(&scene));
    scene.run.records.sched.retain(|sample| sample.who == Watched::Worker(0));
    assert!(!shows(&scene));
}

#[test]
fn a_session_asked_from_its_port_while_it_lasted() {
    const PORT: u16 = 5_000;
    let mut scene = Scene::of("fetch 0 awaiting 100..900 request=200");
    let session = Session { upstream_port: Some(PORT), ..scene.session().clone() };
    let found = |told: &[(u16, u64)], session: &Session| {
        let told = told.iter().map(|&(upstream_port, asked)| Answered {
            upstream_port,
            request_ns: at(asked),
            head_ns: None,
        });
        let told: Vec<Answered> = told.collect();
        Answers::of(&told).to(session).map(|answered| answered.request_ns)
    };
    for (what, told, expected) in [
        ("the first from its port", &[(PORT, 901), (PORT, 300), (PORT, 400)][..], Some(at(300))),
        ("it had ended", &[(PORT, 901)], None),
        ("one came before, one from elsewhere", &[(PORT, 199), (PORT + 1, 250)], None),
        ("with its own request", &[(PORT, 200)], Some(at(200))),
        ("at its end", &[(PORT, 900)], Some(at(900))),
        ("nobody told", &[], None),
    ] {
        assert_eq!(found(told, &session), expected, "{what}");
    }
    assert_eq!(found(&[(PORT, 300)], &Session { upstream_port: None, ..session.clone() }), None);
    assert_eq!(found(&[(PORT, 300)], &Session { request_ns: None, ..session }), None);
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
