//! Where the records do not suffice, and what is said instead. A better reckoning changes these.

use records::Cause;

use crate::fixture::{BUSY, HALF_IDLE, Scene, Times, Turns};

/// Workers 0 and 1 share a CPU with somebody else. Worker 1 runs while worker 0 is in its poll, and
/// the other while worker 0 is ready: 250 ms of `off_cpu_runnable`. But within a stretch nobody tells
/// when who ran: the wait is divided as the two used the CPU, 250 ms and 500 ms.
#[test]
fn within_a_stretch_a_sibling_and_a_foreign_process_share_the_wait() {
    let mut scene = Scene::new(2);
    scene.turns(0, 1_000, Turns { off: 50, ..HALF_IDLE });
    scene.turns(1, 1_000, HALF_IDLE);
    scene.waits(0, 0, 1_000, 250);
    scene.runs(0, 0, 1_000, 1_000);
    let fetch = scene.fetch(0, Times::awaiting(0, 1_000));
    scene.look();
    let expected = [(Cause::Convoy, 417), (Cause::OffCpuRunnable, 83), (Cause::Upstream, 500)];
    assert_eq!(scene.causes(fetch), expected);
}

/// The same, in records of an earlier build, which do not tell what the CPU ran.
#[test]
fn a_sibling_of_whose_cpu_nothing_is_told_hides_a_foreign_process_within_a_stretch() {
    let mut scene = Scene::new(2);
    scene.turns(0, 1_000, Turns { off: 50, ..HALF_IDLE });
    scene.turns(1, 1_000, HALF_IDLE);
    scene.waits(0, 0, 1_000, 250);
    let fetch = scene.fetch(0, Times::awaiting(0, 1_000));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Convoy, 500), (Cause::Upstream, 500)]);
}

/// An idle worker that is woken waits for the proxy's other worker to let go of their CPU. There is
/// no work of its own that this could be left with.
#[test]
fn a_sibling_that_ran_when_the_worker_was_woken_is_a_foreign_process() {
    let mut scene = Scene::new(2);
    let download = scene.download(0, 1);
    scene.poll(0, 1_000);
    scene.hold(download, 1_000, 30);
    scene.waits(0, 0, 1_000, 300);
    scene.waits(1, 0, 1_000, 300);
    let fetch = scene.fetch(0, Times::awaiting(0, 1_000));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::OffCpuRunnable, 300), (Cause::Upstream, 700)]);
}

/// Of 500 ms in polls the worker was ready for 250 ms, and of 500 ms out of them it slept for
/// 250 ms. A wait is taken for the first, where it stands for a sleep.
#[test]
fn waits_to_be_woken_stand_for_sleep_in_the_same_epoch() {
    let mut scene = Scene::new(1);
    scene.turns(0, 1_000, Turns { off: 50, ..HALF_IDLE });
    scene.waits(0, 0, 1_000, 250);
    let fetch = scene.fetch(0, Times::awaiting(0, 1_000));
    scene.look();
    let expected = [(Cause::Convoy, 250), (Cause::OffCpuRunnable, 250), (Cause::Upstream, 500)];
    assert_eq!(scene.causes(fetch), expected);
}

/// The worker was ready for part of that poll, but the kernel does not say so.
#[test]
fn without_schedstat_a_woken_worker_looks_idle() {
    let mut scene = Scene::new(1);
    scene.poll(0, 1_000);
    let fetch = scene.fetch(0, Times::awaiting(0, 1_000));
    assert_eq!(scene.causes(fetch), [(Cause::Upstream, 1_000)]);
    let hidden = scene.explain().late.hidden;
    assert!(hidden.iter().any(|hidden| hidden.cause == Cause::OffCpuRunnable), "it is named");
}

/// A hypervisor may let a thread's CPU clock go on while it takes the CPU (a kernel without
/// CONFIG_PARAVIRT_TIME_ACCOUNTING). Then the worker does not miss it.
#[test]
fn stolen_time_that_looks_like_cpu_time_is_the_works() {
    let mut scene = Scene::new(1);
    let download = scene.download(0, 0);
    scene.hold(download, 1_000, 0);
    scene.steals(0, 0, 1_000, 400);
    let fetch = scene.fetch(0, Times::awaiting(0, 1_000));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::HeldByStep, 1_000)]);
}

/// The origin thinks for a second. In turns of 1 ms the worker would have noticed the head at once,
/// but it was not idle; and of when the origin answered nothing is told, as by an earlier build.
#[test]
fn an_origin_that_thinks_untold_while_the_worker_turns_is_a_convoy() {
    let mut scene = Scene::new(1);
    scene.turns(0, 1_000, BUSY);
    let fetch = scene.fetch(0, Times::awaiting(0, 1_000));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Convoy, 1_000)]);
}

/// The head was on its way for half a second, as over a link that loses segments. The origin tells
/// when it was sent, and nobody when it came: the worker's fault is overstated by the way.
#[test]
fn a_head_on_its_way_to_a_worker_that_turns_is_a_convoy() {
    let mut scene = Scene::new(1);
    scene.turns(0, 1_000, BUSY);
    let fetch = scene.fetch(0, Times { head: Some(700), ..Times::awaiting(0, 700) });
    scene.origin(0, Some(200));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Convoy, 500), (Cause::Upstream, 200)]);
}

/// Never accepted, with both workers held: a step it was, but whose is not known.
#[test]
fn of_two_held_workers_none_is_named() {
    let mut scene = Scene::new(2);
    for worker in [0, 1] {
        let download = scene.download(worker, worker);
        scene.hold(download, 1_000, 0);
    }
    scene.fetch(0, Times::queued(0, 1_000));
    scene.look();
    let worst = scene.explain().late.worst.expect("it failed");
    assert_eq!((worst.worker, worst.cause), (None, Cause::HeldByStep));
    assert_eq!(worst.step, None);
}
