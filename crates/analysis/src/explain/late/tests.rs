use proptest::prelude::*;
use records::{Holder, Outcome, RunRecords};

use crate::explain::latency_model;
use crate::explain::split::all;
use crate::figures::log::log_truth;
use crate::fixture::garbage::garbage;
use crate::fixture::random::{Cpu, runs};
use crate::fixture::{BUSY, Scene, Times};

use super::*;

fn idle(attempts: u64, p99: u64) -> FetchSummary {
    let mut idle = crate::summarise(&Scene::new(1).run.records).idle;
    (idle.attempts, idle.latency_us.p99) = (attempts, p99);
    idle
}

const SOUND: Baseline =
    Baseline { limit_us: Micros(200_000), stalled: 0, of: 40, standing: Standing::Sound };

/// A worker that is held for half a second, turns for half a second, and sleeps for a second.
fn scene() -> Scene {
    let mut scene = Scene::new(1);
    let download = scene.download(2, 0);
    scene.hold(download, 500, 0);
    scene.turns(0, 500, BUSY);
    scene.poll(0, 1_000);
    scene.look();
    scene
}

#[test]
fn late_is_three_times_the_idle_p99() {
    assert_eq!(limit(&idle(40, 5_000)), Micros(15_000));
    assert_eq!(limit(&idle(0, 0)), Micros(u64::MAX), "nothing to compare with");
    assert_eq!(limit(&idle(1, u64::MAX)), Micros(u64::MAX));
}

#[test]
fn late_is_failed_or_slow_and_under_load() {
    let mut scene = scene();
    let index = scene.fetch(0, Times { outcome: Outcome::Ok, ..Times::body(0, 100) });
    let fetch = &mut scene.run.records.fetches[index];
    let rule = |limit| LateSummary { limit_us: Micros(limit), ..LateSummary::default() };
    assert!(!is_late(fetch, &rule(100_000)), "not longer");
    assert!(is_late(fetch, &rule(99_999)));
    fetch.outcome = Outcome::LocalError;
    assert!(!is_late(fetch, &rule(100_000)), "nobody was asked");
    fetch.outcome = Outcome::ClosedEarly;
    assert!(is_late(fetch, &rule(u64::MAX)));
    fetch.phase = Phase::Idle;
    assert!(!is_late(fetch, &rule(0)));
    assert!(is_late(fetch, &LateSummary { phase: Phase::Idle, ..rule(0) }), "of its own phase");
}

/// Two wait 400 ms each in the step, one of them 300 ms more in turns; a third 800 ms for the
/// origin, and a fourth is not late.
#[test]
fn causes_come_in_the_order_of_their_time() {
    let mut scene = scene();
    scene.fetch(0, Times::awaiting(100, 500));
    scene.fetch(0, Times::awaiting(100, 800));
    scene.fetch(0, Times::awaiting(1_100, 1_900));
    scene.fetch(0, Times { outcome: Outcome::Ok, ..Times::body(1_000, 1_010) });
    let context = Context::of(&scene.run.records);
    let explained = explain(&context, &all(&context), &idle(40, 5_000), &SOUND);
    let LateSummary { limit_us, fetches, time_us, .. } = explained.late;
    assert_eq!((limit_us, fetches, time_us), (Micros(15_000), 3, Micros(1_900_000)));
    let causes: Vec<_> =
        explained.causes.iter().map(|c| (c.cause, c.time_us.0 / 1_000, c.fetches)).collect();
    let expected =
        [(Cause::HeldByStep, 800, 2), (Cause::Upstream, 800, 1), (Cause::Convoy, 300, 0)];
    assert_eq!(causes, expected);
    let [first, _, third] = &explained.causes[..] else { panic!("three causes") };
    assert!((first.share_of_late_time - 8.0 / 19.0).abs() < 1e-9);
    assert!((third.share_of_late_time - 3.0 / 19.0).abs() < 1e-9);
}

#[test]
fn the_worst_waited_longest_and_of_equals_it_came_first() {
    let mut scene = scene();
    for (from, to) in [(100, 500), (1_100, 1_700), (200, 800), (0, 300)] {
        scene.fetch(0, Times::awaiting(from, to));
    }
    let worst = scene.explain().late.worst.expect("late fetches");
    assert_eq!((worst.fetch, worst.response_us), (1, Micros(600_000)));
    assert_eq!((worst.cause, worst.cause_us, worst.step), (Cause::Upstream, Micros(600_000), None));
    assert_eq!((worst.worker, worst.outcome), (Some(0), Outcome::TimeoutNoByte));
}

/// The step is told only where it was what took longest.
#[test]
fn the_worst_names_its_step() {
    let mut scene = scene();
    scene.fetch(0, Times::awaiting(100, 1_000));
    assert_eq!(scene.explain().late.worst.and_then(|worst| worst.step), None);
    scene.fetch(0, Times::awaiting(0, 1_000));
    let worst = scene.explain().late.worst.expect("late");
    let step = worst.step.expect("500 ms of a second, before turns in the order of causes");
    assert_eq!((step.holder, step.waited_us), (Holder::Download(2), Micros(500_000)));
}

#[test]
fn a_run_in_which_nothing_was_late_has_no_causes() {
    let explained = scene().explain();
    assert_eq!((explained.late.fetches, explained.late.time_us), (0, Micros(0)));
    assert!(explained.causes.is_empty() && explained.late.worst.is_none());
}

fn hidden_of(scene: &Scene) -> Vec<(Cause, String)> {
    let hidden = scene.explain().late.hidden;
    hidden.into_iter().map(|hidden| (hidden.cause, hidden.reason)).collect()
}

#[test]
fn a_run_that_shows_everything_hides_nothing() {
    assert_eq!(hidden_of(&scene()), []);
}

#[test]
fn what_workers_do_not_tell_is_hidden_and_named_once() {
    let mut scene = scene();
    scene.run.records.stretches.clear();
    let hidden = hidden_of(&scene);
    let causes: Vec<Cause> = hidden.iter().map(|(cause, _)| *cause).collect();
    let expected = [
        Cause::HeldByStep,
        Cause::Convoy,
        Cause::AcceptQueue,
        Cause::Upstream,
        Cause::OwnTransfer,
        Cause::OffCpuRunnable,
        Cause::OffCpuBlocked,
    ];
    assert_eq!(causes, expected);
    for (cause, reason) in hidden {
        assert_eq!(reason, "the workers told nothing of their time", "{cause}");
    }
}

#[test]
fn what_the_kernel_does_not_show_is_hidden() {
    let mut scene = scene();
    scene.run.records.sched.clear();
    scene.run.records.manifest.kernel_counters.clear();
    let hidden: Vec<Cause> = hidden_of(&scene).into_iter().map(|(cause, _)| cause).collect();
    assert_eq!(hidden, [Cause::OffCpuRunnable, Cause::OffCpuBlocked, Cause::BacklogOverflow]);
}

proptest! {
    #[test]
    fn shares_sum_to_one(records in runs(Cpu::Random)) {
        assert_whole(&records)?;
    }

    #[test]
    fn shares_of_garbage_sum_to_one(records in garbage()) {
        assert_whole(&records)?;
    }
}

/// The explanation as a whole: no panic, and shares of late time that sum to 1.
fn assert_whole(records: &RunRecords) -> Result<(), TestCaseError> {
    let context = Context::of(records);
    let splits = all(&context);
    for idle in [idle(0, 0), idle(9, 0), idle(9, 20_000)] {
        let explained = explain(&context, &splits, &idle, &SOUND);
        let sum: f64 = explained.causes.iter().map(|cause| cause.share_of_late_time).sum();
        match explained.causes.is_empty() {
            true => prop_assert_eq!(explained.late.time_us, Micros(0)),
            false => prop_assert!((sum - 1.0).abs() < 1e-9, "{}", sum),
        }
        for cause in &explained.causes {
            prop_assert!((0.0..=1.0).contains(&cause.share_of_late_time));
        }
        let leading: u64 = explained.causes.iter().map(|cause| cause.fetches).sum();
        prop_assert!(leading <= explained.late.fetches);
        if let Some(worst) = explained.late.worst {
            prop_assert!(worst.cause_us <= worst.response_us);
        }
    }
    // Beside it, from the same records.
    let median = Micros(1);
    if let Some(law) = latency_model(records, &context.join, &context.windows, median) {
        prop_assert!(law.turns.is_finite() && law.downloads_per_worker.is_finite());
    }
    let truth = log_truth(&context.join);
    prop_assert!(truth.called_ok + truth.unlogged <= truth.failed);
    Ok(())
}

#[test]
fn of_workers_that_nobody_knows_the_kernel_was_not_asked() {
    let mut scene = scene();
    scene.run.records.manifest.visibility = Visibility::ClientsOnly;
    scene.run.records.stretches.clear();
    scene.run.records.sched.clear();
    let hidden = hidden_of(&scene);
    assert_eq!(hidden.len(), 7, "{hidden:?}");
    let clients = "of this proxy only its clients tell";
    assert!(hidden.iter().all(|(_, reason)| reason == clients), "{hidden:?}");
}
