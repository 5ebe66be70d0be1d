//! An origin that thinks is told from a worker that is late, whatever the worker does meanwhile.

use records::{Cause, Micros};

use super::{held, turning};
use crate::fixture::{BUSY, Times, Turns, at};

#[test]
fn an_origin_that_thinks_while_the_worker_turns_is_the_upstream() {
    let mut scene = turning(BUSY);
    let fetch = scene.fetch(0, Times::awaiting(0, 1_000));
    scene.origin(0, Some(600));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Convoy, 400), (Cause::Upstream, 600)]);
}

#[test]
fn a_step_holds_nobody_whose_answer_is_not_there() {
    let (mut scene, _) = held(1, 0);
    let fetch = scene.fetch(0, Times::awaiting(100, 900));
    scene.origin(100, Some(400));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::HeldByStep, 500), (Cause::Upstream, 300)]);
    let worst = scene.explain().late.worst.expect("it failed");
    let step = worst.step.expect("a step held it");
    assert_eq!((step.length_us, step.waited_us), (Micros(1_000_000), Micros(500_000)));
}

#[test]
fn an_origin_that_never_answered_kept_it_to_the_end() {
    let (mut scene, _) = held(1, 0);
    let fetch = scene.fetch(0, Times::awaiting(100, 900));
    scene.origin(100, None);
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Upstream, 800)]);
    assert!(scene.split(fetch).held.is_empty(), "it waited in no step");
}

/// It goes on thinking when the proxy has given up.
#[test]
fn an_origin_that_answered_too_late_kept_it_to_the_end() {
    let (mut scene, _) = held(1, 0);
    let fetch = scene.fetch(0, Times::awaiting(100, 900));
    scene.origin(100, Some(950));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Upstream, 800)]);
}

#[test]
fn an_origin_that_answered_at_once_kept_nobody() {
    let (mut scene, _) = held(1, 0);
    let fetch = scene.fetch(0, Times::awaiting(100, 900));
    scene.origin(100, Some(100));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::HeldByStep, 800)]);
}

/// The worker was held, then saw its connection stand and asked, and was held again.
#[test]
fn nobody_answers_what_was_not_sent() {
    let (mut scene, _) = held(1, 0);
    let fetch = scene.fetch(0, Times::awaiting(100, 900));
    scene.session().connected_ns = Some(at(300));
    scene.origin(350, Some(500));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::HeldByStep, 600), (Cause::Upstream, 200)]);
}

/// As of a proxy that was traced: it was sent when the origin had it, at the latest.
#[test]
fn where_nobody_tells_when_it_was_sent_the_origin_does() {
    let (mut scene, _) = held(1, 0);
    let fetch = scene.fetch(0, Times::awaiting(100, 900));
    scene.origin(350, Some(500));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::HeldByStep, 650), (Cause::Upstream, 150)]);
}

/// A worker without a CPU reads nothing, but there was nothing to read.
#[test]
fn a_worker_without_a_cpu_keeps_nobody_whose_answer_is_not_there() {
    let mut scene = turning(Turns { off: 75, ..BUSY });
    let fetch = scene.fetch(0, Times::awaiting(0, 1_000));
    scene.origin(0, Some(600));
    scene.look();
    let expected = [(Cause::Convoy, 100), (Cause::OffCpuBlocked, 300), (Cause::Upstream, 600)];
    assert_eq!(scene.causes(fetch), expected);
}

/// Of what the origin told of another session nothing is this one's.
#[test]
fn the_answer_to_another_session_is_none() {
    let mut scene = turning(BUSY);
    let fetch = scene.fetch(0, Times::awaiting(0, 1_000));
    scene.origin(0, Some(600));
    scene.session().upstream_port = Some(1);
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Convoy, 1_000)]);
}
