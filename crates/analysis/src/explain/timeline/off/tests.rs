//! Time without a CPU, where a few readings of the kernel meet many short stretches.

use records::Cause;

use crate::fixture::{BUSY, HALF_IDLE, LOOKS, Scene, Times, Turns};

/// Short steps of which `off` percent without a CPU.
fn off(off: u64) -> Turns {
    Turns { off, ..BUSY }
}

/// The worker waits 100 ms and runs again at 205 ms. The wait stands in the reading of 225 ms, when
/// the stretch, and with it the epoch, is long over.
#[test]
fn a_wait_that_stands_in_the_reading_after_it_is_no_sleep() {
    let mut scene = Scene::new(1);
    scene.turns(0, 100, BUSY);
    let download = scene.download(0, 0);
    scene.hold(download, 110, 91);
    scene.turns(0, 300, HALF_IDLE);
    scene.waits_until(0, 205, 100);
    let held = scene.fetch(0, Times::awaiting(100, 210));
    let later = scene.fetch(0, Times::awaiting(210, 410));
    scene.look();
    assert_eq!(scene.causes(held), [(Cause::HeldByStep, 10), (Cause::OffCpuRunnable, 100)]);
    assert_eq!(scene.causes(later), [(Cause::Convoy, 100), (Cause::Upstream, 100)]);
}

/// A cgroup's quota takes 60 ms of every 100 ms, in one piece.
#[test]
fn waits_in_lumps_are_waits_all_of_them() {
    let mut scene = Scene::new(1);
    let download = scene.download(0, 0);
    for period in 0..10 {
        scene.turns(0, 40, BUSY);
        scene.hold(download, 61, 98);
        scene.waits_until(0, period * 101 + 100, 60);
    }
    let fetch = scene.fetch(0, Times::awaiting(0, 1_010));
    scene.look();
    let expected = [(Cause::HeldByStep, 12), (Cause::Convoy, 400), (Cause::OffCpuRunnable, 598)];
    assert_eq!(scene.causes(fetch), expected);
}

/// 80 ms between two readings that are 100 ms apart.
#[test]
fn stolen_time_is_known_from_the_reading_after_it() {
    let mut scene = Scene::new(1);
    scene.turns(0, 150, BUSY);
    let download = scene.download(0, 0);
    scene.hold(download, 100, 80);
    scene.turns(0, 200, BUSY);
    scene.steals(0, 210, 290, 80);
    let held = scene.fetch(0, Times::awaiting(150, 250));
    let later = scene.fetch(0, Times::awaiting(250, 450));
    scene.look();
    assert_eq!(scene.causes(held), [(Cause::HeldByStep, 20), (Cause::OffCpuRunnable, 80)]);
    assert_eq!(scene.causes(later), [(Cause::Convoy, 200)]);
}

/// The same reading, of 225 ms, is there for the step before it and for the one around it.
#[test]
fn a_wait_counts_once() {
    let mut scene = Scene::new(1);
    let download = scene.download(0, 0);
    scene.turns(0, 100, BUSY);
    scene.hold(download, 110, 91);
    scene.hold(download, 110, 91);
    scene.waits_until(0, 205, 100);
    let [waited, slept] =
        [(100, 210), (210, 320)].map(|(from, to)| scene.fetch(0, Times::awaiting(from, to)));
    scene.look();
    assert_eq!(scene.causes(waited), [(Cause::HeldByStep, 10), (Cause::OffCpuRunnable, 100)]);
    assert_eq!(scene.causes(slept), [(Cause::HeldByStep, 10), (Cause::OffCpuBlocked, 100)]);
}

/// Which stretch had no CPU is known of each; it is only the reasons that need an epoch.
#[test]
fn a_stretch_has_only_its_own_time_off_the_cpu() {
    let mut scene = Scene::new(1);
    scene.turns(0, 95, BUSY);
    let download = scene.download(0, 0);
    scene.hold(download, 905, 90);
    let before = scene.fetch(0, Times::awaiting(0, 95));
    let inside = scene.fetch(0, Times::awaiting(95, 995));
    scene.look();
    assert_eq!(scene.causes(before), [(Cause::Convoy, 95)]);
    assert_eq!(scene.causes(inside), [(Cause::HeldByStep, 90), (Cause::OffCpuBlocked, 810)]);
}

/// The worker waited only where its record was lost.
#[test]
fn waits_of_a_lost_stretch_explain_no_other() {
    let mut scene = Scene::new(1);
    scene.turns(0, 50, BUSY);
    scene.lost(0, 950);
    scene.turns(0, 50, off(80));
    scene.waits(0, 100, 900, 500);
    let fetch = scene.fetch(0, Times::awaiting(1_000, 1_050));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Convoy, 10), (Cause::OffCpuBlocked, 40)]);
}

/// Nobody looked any more: it may have waited or slept.
#[test]
fn time_off_the_cpu_after_the_last_reading_is_unexplained() {
    let mut scene = Scene::new(1);
    let [_, last] = LOOKS;
    scene.poll(0, last);
    scene.turns(0, 200, off(80));
    let fetch = scene.fetch(0, Times::awaiting(last, last + 200));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Convoy, 40), (Cause::Unexplained, 160)]);
}

#[test]
fn one_reading_is_as_good_as_none() {
    let mut scene = Scene::new(1);
    scene.turns(0, 200, off(80));
    let fetch = scene.fetch(0, Times::awaiting(0, 200));
    scene.look();
    scene.run.records.sched.truncate(1);
    assert_eq!(scene.causes(fetch), [(Cause::Convoy, 40), (Cause::Unexplained, 160)]);
    let hidden = scene.explain().late.hidden;
    assert!(hidden.iter().any(|hidden| hidden.cause == Cause::OffCpuRunnable));
}

/// Over two seconds of waits, sleeps and polls, epochs and readings never coincide.
#[test]
fn in_the_long_run_every_reason_has_its_time() {
    let mut scene = Scene::new(1);
    let turns = Turns { turn_us: 100, poll: 20, off: 60 };
    while scene.now(0) < 2_000 {
        scene.turns(0, 13, turns);
    }
    let end = scene.now(0);
    // Of 1,600 ms busy 960 ms off the CPU: 560 ms waiting, 160 ms stolen, 240 ms asleep.
    scene.waits(0, 0, end, 560);
    scene.steals(0, 0, end, 160);
    let fetch = scene.fetch(0, Times::awaiting(0, end));
    scene.look();
    let of = |cause| scene.split(fetch).shares.of(cause).as_millis();
    assert!((700..=740).contains(&of(Cause::OffCpuRunnable)), "{:?}", scene.causes(fetch));
    assert!((220..=260).contains(&of(Cause::OffCpuBlocked)), "{:?}", scene.causes(fetch));
    assert_eq!(of(Cause::Unexplained), 0);
}

/// A worker that is idle but for 1 ms in 100, and waits when it is woken.
#[test]
fn waits_of_an_idle_worker_are_between_its_polls() {
    let mut scene = Scene::new(1);
    for _ in 0..10 {
        scene.poll(0, 99);
        scene.turns(0, 1, BUSY);
    }
    scene.waits(0, 0, 1_000, 300);
    let fetch = scene.fetch(0, Times::awaiting(0, 1_000));
    scene.look();
    let of = |cause| scene.split(fetch).shares.of(cause).as_millis();
    assert!((290..=300).contains(&of(Cause::OffCpuRunnable)), "{:?}", scene.causes(fetch));
    assert_eq!(of(Cause::OffCpuBlocked), 0);
}
