//! Time in which a worker had no CPU.

use records::Cause;

use super::{held, sleeping, turning};
use crate::fixture::{BUSY, Scene, Times, Turns};

#[test]
fn a_foreign_process_takes_the_cpu() {
    let (mut scene, _) = held(2, 40);
    scene.poll(1, 1_000);
    scene.waits(0, 0, 1_000, 400);
    let fetch = scene.fetch(0, Times::awaiting(100, 900));
    scene.look();
    let expected = [(Cause::HeldByStep, 480), (Cause::OffCpuRunnable, 320)];
    assert_eq!(scene.causes(fetch), expected);
}

#[test]
fn another_worker_on_the_same_cpu_is_no_foreign_process() {
    let (mut scene, _) = held(2, 40);
    let other = scene.download(1, 1);
    scene.hold(other, 1_000, 60);
    scene.waits(0, 0, 1_000, 400);
    scene.waits(1, 0, 1_000, 600);
    let fetches = [0, 1].map(|worker| scene.fetch(worker, Times::awaiting(100, 900)));
    scene.look();
    for fetch in fetches {
        assert_eq!(scene.causes(fetch), [(Cause::HeldByStep, 800)]);
    }
}

/// Each of three has a third: of the two thirds that a worker waits, one is the other worker's.
#[test]
fn a_foreign_process_is_told_from_another_worker() {
    let (mut scene, _) = held(2, 66);
    let other = scene.download(1, 1);
    scene.hold(other, 1_000, 66);
    for worker in [0, 1] {
        scene.waits(worker, 0, 1_000, 660);
    }
    let fetch = scene.fetch(0, Times::awaiting(0, 1_000));
    scene.look();
    let expected = [(Cause::HeldByStep, 680), (Cause::OffCpuRunnable, 320)];
    assert_eq!(scene.causes(fetch), expected);
}

/// Of each 100 ms worker 0 is busy for 40, of which it waits 20, and in its poll for 60; worker 1 runs
/// in those 60 only. So it was somebody else who kept worker 0 waiting.
#[test]
fn a_sibling_that_ran_while_the_worker_slept_is_no_excuse() {
    let mut scene = Scene::new(2);
    for _ in 0..10 {
        scene.turns(0, 40, Turns { off: 50, ..BUSY });
        scene.poll(0, 60);
        scene.poll(1, 40);
        scene.turns(1, 60, BUSY);
    }
    scene.waits(0, 0, 1_000, 200);
    let fetch = scene.fetch(0, Times::awaiting(0, 1_000));
    scene.look();
    let expected = [(Cause::Convoy, 200), (Cause::OffCpuRunnable, 200), (Cause::Upstream, 600)];
    assert_eq!(scene.causes(fetch), expected);
}

/// Both workers are held all the time, and the CPU ran nobody else: ticks are coarse, and seem to say
/// now more and now less than the workers used.
#[test]
fn ticks_that_are_coarse_make_no_foreign_process() {
    let (mut scene, _) = held(2, 50);
    let other = scene.download(1, 1);
    scene.hold(other, 1_000, 50);
    for worker in [0, 1] {
        scene.waits(worker, 0, 1_000, 500);
    }
    for from in (0..1_000).step_by(200) {
        scene.runs(0, from, from + 100, 110);
        scene.runs(0, from + 100, from + 200, 90);
    }
    let fetch = scene.fetch(0, Times::awaiting(0, 1_000));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::HeldByStep, 1_000)]);
}

/// With a CPU of its own, the other worker takes nothing.
#[test]
fn a_worker_on_another_cpu_takes_nothing() {
    let (mut scene, _) = held(2, 40);
    scene.run.records.manifest.host.worker_cpus = vec![0, 1];
    let other = scene.download(1, 1);
    scene.hold(other, 1_000, 0);
    scene.waits(0, 0, 1_000, 400);
    let fetch = scene.fetch(0, Times::awaiting(100, 900));
    scene.look();
    let expected = [(Cause::HeldByStep, 480), (Cause::OffCpuRunnable, 320)];
    assert_eq!(scene.causes(fetch), expected);
}

#[test]
fn the_hypervisor_takes_the_cpu() {
    let (mut scene, _) = held(1, 40);
    scene.steals(0, 0, 1_000, 400);
    scene.steals(1, 0, 1_000, 900);
    let fetch = scene.fetch(0, Times::awaiting(100, 900));
    scene.look();
    let expected = [(Cause::HeldByStep, 480), (Cause::OffCpuRunnable, 320)];
    assert_eq!(scene.causes(fetch), expected);
}

/// Workers that no CPU was chosen for may be on any.
#[test]
fn the_hypervisor_takes_the_cpu_of_a_worker_that_may_be_on_any() {
    let (mut scene, _) = held(1, 40);
    scene.run.records.manifest.host.worker_cpus.clear();
    scene.steals(1, 0, 1_000, 400);
    let fetch = scene.fetch(0, Times::awaiting(100, 900));
    scene.look();
    let expected = [(Cause::HeldByStep, 480), (Cause::OffCpuRunnable, 320)];
    assert_eq!(scene.causes(fetch), expected);
}

#[test]
fn a_worker_that_sleeps_outside_its_poll_is_blocked() {
    let mut scene = turning(Turns { off: 75, ..BUSY });
    let fetch = scene.fetch(0, Times::awaiting(100, 900));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Convoy, 200), (Cause::OffCpuBlocked, 600)]);
}

/// Half of what it has no CPU for it waits, the rest it sleeps.
#[test]
fn two_reasons_to_have_no_cpu_are_told_apart() {
    let mut scene = turning(Turns { off: 80, ..BUSY });
    scene.waits(0, 0, 1_000, 500);
    let fetch = scene.fetch(0, Times::awaiting(0, 1_000));
    scene.look();
    let expected =
        [(Cause::Convoy, 200), (Cause::OffCpuRunnable, 500), (Cause::OffCpuBlocked, 300)];
    assert_eq!(scene.causes(fetch), expected);
}

/// 4 % is what two clocks may differ.
#[test]
fn a_little_time_off_the_cpu_is_left_with_the_work() {
    let (mut scene, _) = held(1, 4);
    let fetch = scene.fetch(0, Times::awaiting(0, 1_000));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::HeldByStep, 1_000)]);
}

#[test]
fn a_worker_that_is_woken_and_has_no_cpu_was_not_idle() {
    let mut scene = sleeping();
    scene.waits(0, 0, 1_000, 250);
    let fetch = scene.fetch(0, Times::awaiting(0, 1_000));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::OffCpuRunnable, 250), (Cause::Upstream, 750)]);
}

/// The step had half a CPU, whoever waited for it.
#[test]
fn held_workers_may_have_no_cpu() {
    let (mut scene, _) = held(1, 50);
    scene.waits(0, 0, 1_000, 500);
    let fetch = scene.fetch(0, Times::queued(100, 900));
    scene.look();
    let expected = [(Cause::HeldByStep, 400), (Cause::OffCpuRunnable, 400)];
    assert_eq!(scene.causes(fetch), expected);
}

/// The worker knows that it had no CPU, and nobody knows why.
#[test]
fn without_schedstat_time_off_the_cpu_is_unexplained_and_its_causes_are_named() {
    let (mut scene, _) = held(1, 40);
    let fetch = scene.fetch(0, Times::awaiting(100, 900));
    assert_eq!(scene.causes(fetch), [(Cause::HeldByStep, 480), (Cause::Unexplained, 320)]);
    let hidden = scene.explain().late.hidden;
    let hidden: Vec<Cause> = hidden.into_iter().map(|hidden| hidden.cause).collect();
    assert_eq!(hidden, [Cause::OffCpuRunnable, Cause::OffCpuBlocked]);
}
