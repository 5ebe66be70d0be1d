use records::{CounterSpan, Micros, Watched};

use crate::tests::scene::{Scene, at};

use super::*;

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

/// The second fetch goes over the connection of the first.
#[test]
fn a_step_on_a_kept_connection_is_of_the_fetch_of_then() {
    let fetches = "fetch 0 body 100..500 port=50001; fetch 0 body 300..350 port=50001;";
    let holds = [110, 180].map(|before| format!("lost 0 {before}; hold 0 nobody 20 port=50001;"));
    let mut scene = Scene::of(&format!("{fetches}{}", holds.concat()));
    let records = &mut scene.run.records;
    records.fetches[1].connect_us = Some(Micros(0));
    records.sessions.retain(|session| session.accepted_ns < at(200));
    records.accepted.retain(|accepted| accepted.at_ns < at(200));
    let context = Context::of(&scene.run.records);
    let holders = [0, 1].map(|hold| context.holder(hold));
    assert_eq!(holders, [0, 1].map(|fetch| Some(Holder::Fetch(fetch))));
    assert_eq!(context.join.fetch(1).map(|one| one.session.is_some()), Some(false));
}

/// A command that was asked for two workers and has one.
#[test]
fn the_only_worker_there_is_had_it() {
    let mut scene = Scene::of("workers 2; hold 0 d3 1000; fetch 0 queued 0..1000");
    scene.run.records.manifest.workers = Some(1);
    scene.run.records.sched.retain(|sample| sample.who != Watched::Worker(1));
    assert_eq!(scene.all_causes(), "held_by_step 1000");
    let late = scene.late();
    let step = late.worst.and_then(|worst| worst.step).expect("a step");
    assert_eq!((step.holder, late.hidden), (Holder::Download(3), Vec::new()));
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

#[rustfmt::skip]
#[test]
fn who_may_have_had_a_connection_that_nobody_accepted() {
    let told = "workers 2; reuseport; turns 0 1000; turns 1 1000";
    let slept = "workers 2; reuseport; turns 0 1000; poll 1 200; turns 1 300; poll 1 500";
    let accepted = format!("{told}; fetch 1 body 400..500");
    let shared = accepted.replace("reuseport; ", "");
    for (what, script, listeners, ms, expected) in [
        ("of the second worker nothing is told", "workers 2; turns 0 1000", 0, 300, &[][..]),
        ("all have told of themselves", told, 0, 300, &[0, 1]),
        ("one slept later, with an empty queue", slept, 0, 300, &[0]),
        ("it may have come while the poll returned", slept, 0, 600, &[0, 1]),
        ("one accepted what came later", &accepted, 0, 300, &[0]),
        ("which came before", &accepted, 0, 401, &[0, 1]),
        ("of a shared queue anybody may", &shared, 0, 300, &[0, 1]),
        ("the first's queue was empty later", told, 2, 300, &[1]),
        ("which it was before", told, 2, 700, &[0, 1]),
        ("a shared one's says nothing", &told.replace("reuseport; ", ""), 1, 300, &[0, 1]),
    ] {
        let mut scene = Scene::of(script);
        scene.run.arm().proxy.reuseport = script.contains("reuseport");
        scene.run.records.manifest.listeners = (1..=listeners).collect();
        if listeners > 0 {
            scene.run.listener(6_600, 0);
            scene.run.listener(6_800, 3);
        }
        let context = Context::of(&scene.run.records);
        assert_eq!(context.candidates(at(ms)).collect::<Vec<_>>(), expected, "{what}");
    }
}
