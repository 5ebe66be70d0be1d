use records::{Holder, Outcome, RunRecords};

use crate::explain::split::all;
use crate::summarise;
use crate::tests::properties::SOUND;
use crate::tests::scene::Scene;

use super::*;

fn idle(attempts: u64, p99: u64) -> FetchSummary {
    let mut idle = summarise(&Scene::of("").run.records).idle;
    (idle.attempts, idle.latency_us.p99) = (attempts, p99);
    idle
}

/// A worker that is held for half a second, turns for half a second, and sleeps for a second; then
/// these fetches.
fn scene(fetches: &str) -> Scene {
    Scene::of(&format!("hold 0 d2 500; turns 0 500; poll 0 1000; {fetches}"))
}

#[test]
fn late_is_three_times_the_idle_p99() {
    assert_eq!(limit(&idle(40, 5_000)), Micros(15_000));
    assert_eq!(limit(&idle(0, 0)), Micros(u64::MAX), "nothing to compare with");
    assert_eq!(limit(&idle(1, u64::MAX)), Micros(u64::MAX));
}

#[test]
fn late_is_failed_or_slow_and_under_load() {
    for (phase, outcome, limit_us, expected) in [
        // Not longer.
        (Phase::Measure, Outcome::Ok, 100_000, [false, false]),
        (Phase::Measure, Outcome::Ok, 99_999, [true, false]),
        // Nobody was asked.
        (Phase::Measure, Outcome::LocalError, 100_000, [false, false]),
        (Phase::Measure, Outcome::ClosedEarly, u64::MAX, [true, false]),
        // Of its own phase.
        (Phase::Idle, Outcome::ClosedEarly, 0, [false, true]),
    ] {
        let mut scene = scene("fetch 0 body 0..100");
        let fetch = &mut scene.run.records.fetches[0];
        (fetch.phase, fetch.outcome) = (phase, outcome);
        let late_in = |phase| {
            let limit_us = Micros(limit_us);
            is_late(fetch, &LateSummary { phase, limit_us, ..LateSummary::default() })
        };
        assert_eq!([Phase::Measure, Phase::Idle].map(late_in), expected, "{outcome} {limit_us}");
    }
}

/// Two wait 400 ms each in the step, one of them 300 ms more in turns; a third 800 ms for the
/// origin, and a fourth is not late.
#[test]
fn causes_come_in_the_order_of_their_time() {
    let scene = scene(
        "fetch 0 awaiting 100..500; fetch 0 awaiting 100..800; fetch 0 awaiting 1100..1900; \
         fetch 0 body 1000..1010 outcome=ok",
    );
    let context = Context::of(&scene.run.records);
    let (late, causes) = explain(&context, &all(&context), &idle(40, 5_000), &SOUND);
    let LateSummary { limit_us, fetches, time_us, .. } = late;
    assert_eq!((limit_us, fetches, time_us), (Micros(15_000), 3, Micros(1_900_000)));
    let told: Vec<_> = causes.iter().map(|c| (c.cause, c.time_us.0 / 1_000, c.fetches)).collect();
    let expected =
        [(Cause::HeldByStep, 800, 2), (Cause::Upstream, 800, 1), (Cause::Convoy, 300, 0)];
    assert_eq!(told, expected);
    let [first, _, third] = &causes[..] else { panic!("three causes") };
    assert!((first.share_of_late_time - 8.0 / 19.0).abs() < 1e-9);
    assert!((third.share_of_late_time - 3.0 / 19.0).abs() < 1e-9);
}

/// The step is told only where it was what took longest.
#[test]
fn the_worst_names_its_step() {
    let worst = |fetches| scene(fetches).late().worst.expect("late");
    assert_eq!(worst("fetch 0 awaiting 100..1000").step, None);
    let step = worst("fetch 0 awaiting 0..1000").step;
    let step = step.expect("500 ms of a second, before turns in the order of causes");
    assert_eq!((step.holder, step.waited_us), (Holder::Download(2), Micros(500_000)));
}

/// A cap makes all that it cuts as long: of these the reader gets one whose holder can be told.
#[test]
fn of_fetches_as_long_as_each_other_the_worst_has_a_holder() {
    let worst = |accepted: &str, unknown: &str| {
        let script = format!(
            "workers 2; reuseport; hold 0 d3 2000; hold 1 d1 2000; fetch 0 queued {accepted}; \
             fetch 0 queued {unknown}"
        );
        let worst = Scene::of(&script).late().worst.expect("late");
        (worst.fetch, worst.step.map(|step| step.holder))
    };
    let known = "100..1100 accepted=2000 closed=2000";
    assert_eq!(worst(known, "300..1305"), (0, Some(Holder::Download(3))));
    assert_eq!(worst(known, "300..1350"), (1, None), "longer by more than a hundredth");
}

/// What of these runs is hidden, and why.
#[test]
fn what_records_do_not_show_is_hidden_and_named_once() {
    type Row = (&'static str, fn(&mut RunRecords));
    let rows: [Row; 7] = [
        ("nothing", |_| ()),
        ("no stretch", |of| of.stretches.clear()),
        ("no schedstat", |of| of.sched.clear()),
        ("one reading is as good as none", |of| of.sched.truncate(1)),
        ("none of the second worker", |of| of.manifest.arm.proxy.workers = 2),
        ("no counter", |of| of.manifest.kernel_counters.clear()),
        ("of workers that nobody knows the kernel was not asked", |of| {
            of.manifest.visibility = Visibility::ClientsOnly;
            of.stretches.clear();
            of.sched.clear();
        }),
    ];
    let row = |(what, change): Row| {
        let mut scene = scene("");
        change(&mut scene.run.records);
        let hidden = scene.late().hidden;
        let hidden = hidden.iter().map(|of| format!("    {}: {}\n", of.cause, of.reason));
        format!("{what}:\n{}", hidden.collect::<String>())
    };
    insta::assert_snapshot!(rows.map(row).concat());
}
