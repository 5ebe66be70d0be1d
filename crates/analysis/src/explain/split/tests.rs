//! What each cause means, on timelines made by hand.

mod cpu;
mod limits;
mod origin;
mod random;
mod reckoning;

use records::{Cause, Holder, Micros, Outcome, StepEnd};

use super::Hands;
use crate::fixture::{BUSY, Client, HALF_IDLE, Scene, Times, Turns};

/// Worker 0 is inside one step of download 3 for a second, of which `off` percent without a CPU.
fn held(workers: u32, off: u64) -> (Scene, Client) {
    let mut scene = Scene::new(workers);
    let download = scene.download(3, 0);
    scene.hold(download, 1_000, off);
    (scene, download)
}

/// One worker that spends a second so.
fn turning(turns: Turns) -> Scene {
    let mut scene = Scene::new(1);
    scene.turns(0, 1_000, turns);
    scene
}

/// One worker that sleeps in its poll for a second.
fn sleeping() -> Scene {
    let mut scene = Scene::new(1);
    scene.poll(0, 1_000);
    scene
}

#[test]
fn a_step_of_another_session_holds_and_is_named() {
    let (mut scene, _) = held(1, 0);
    let fetch = scene.fetch(0, Times::awaiting(100, 900));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::HeldByStep, 800)]);
    let worst = scene.explain().late.worst.expect("it failed");
    assert_eq!((worst.cause, worst.cause_us), (Cause::HeldByStep, Micros(800_000)));
    let step = worst.step.expect("a step held it");
    assert_eq!((step.holder, step.worker), (Holder::Download(3), 0));
    assert_eq!((step.length_us, step.waited_us), (Micros(1_000_000), Micros(800_000)));
    assert_eq!(step.ended_by, StepEnd::UpstreamEmpty);
}

#[test]
fn a_step_holds_those_in_the_queue_as_well() {
    let (mut scene, _) = held(1, 0);
    scene.turns(0, 100, BUSY);
    let accepted = Some(1_000);
    let times = Times { accepted, closed: Some(1_050), ..Times::queued(100, 1_050) };
    let fetch = scene.fetch(0, times);
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::HeldByStep, 900), (Cause::Convoy, 50)]);
}

/// The second of two downloads held it longer.
#[test]
fn the_step_that_held_longest_is_named() {
    let mut scene = Scene::new(1);
    for (slot, ms) in [(0, 200), (1, 500), (2, 300)] {
        let download = scene.download(slot, 0);
        scene.hold(download, ms, 0);
    }
    let fetch = scene.fetch(0, Times::awaiting(0, 1_000));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::HeldByStep, 1_000)]);
    let step = scene.explain().late.worst.and_then(|worst| worst.step).expect("a step");
    assert_eq!((step.holder, step.waited_us), (Holder::Download(1), Micros(500_000)));
}

#[test]
fn a_step_of_another_worker_holds_nobody_here() {
    let (mut scene, _) = held(2, 0);
    scene.poll(1, 1_000);
    let fetch = scene.fetch(1, Times::awaiting(100, 900));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Upstream, 800)]);
}

#[test]
fn a_long_step_of_its_own_is_its_own_transfer() {
    let mut scene = Scene::new(1);
    let fetch = scene.fetch(0, Times::body(100, 900));
    let own = scene.last_client();
    scene.hold(own, 1_000, 0);
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::OwnTransfer, 800)]);
}

/// Its session was still open when the run ended, so only the accept tells of it.
#[test]
fn a_long_step_of_its_own_is_known_without_a_session() {
    let mut scene = Scene::new(1);
    let fetch = scene.fetch(0, Times { closed: None, ..Times::body(0, 800) });
    let own = scene.last_client();
    scene.hold(own, 1_000, 0);
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::OwnTransfer, 800)]);
}

/// Two clients used one port, one after the other: the step was the first one's.
#[test]
fn a_step_of_an_earlier_user_of_its_port_is_not_its_own() {
    let (mut scene, download) = held(1, 0);
    let fetch = scene.fetch(0, Times { closed: None, ..Times::awaiting(100, 900) });
    scene.run.records.fetches[fetch].client_port = Some(download.port);
    scene.run.records.accepted.last_mut().expect("accepted").client_port = download.port;
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::HeldByStep, 800)]);
}

#[test]
fn short_steps_of_others_are_a_convoy_and_its_own_are_not() {
    let mut scene = turning(BUSY);
    let fetch = scene.fetch(0, Times::body(0, 1_000));
    scene.session().steps_us = Micros(300_000);
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Convoy, 700), (Cause::OwnTransfer, 300)]);
}

/// Its own hold of 400 ms is not counted twice: 100 ms of its steps were short.
#[test]
fn its_holds_are_not_among_its_short_steps() {
    let mut scene = Scene::new(1);
    let fetch = scene.fetch(0, Times::body(0, 1_000));
    scene.session().steps_us = Micros(500_000);
    let own = scene.last_client();
    scene.turns(0, 600, BUSY);
    scene.hold(own, 400, 0);
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Convoy, 500), (Cause::OwnTransfer, 500)]);
}

#[test]
fn the_turn_in_which_it_came_is_a_convoy_and_later_ones_are_the_accept_queue() {
    let mut scene = turning(Turns { turn_us: 5_000, ..BUSY });
    let times = Times { accepted: Some(300), closed: Some(300), ..Times::queued(100, 300) };
    let fetch = scene.fetch(0, times);
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Convoy, 5), (Cause::AcceptQueue, 195)]);
}

#[test]
fn a_long_turn_is_known_to_its_end() {
    let mut scene = turning(BUSY);
    scene.long_turn(0, 50, 250);
    let times = Times { accepted: Some(300), closed: Some(300), ..Times::queued(100, 300) };
    let fetch = scene.fetch(0, times);
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Convoy, 150), (Cause::AcceptQueue, 50)]);
}

/// Turns of 1 ms when it came, of 5 ms later on: it missed the end of the first after 1 ms.
#[test]
fn the_turn_in_which_it_came_is_as_long_as_turns_were_then() {
    let mut scene = Scene::new(1);
    scene.turns(0, 5, BUSY);
    scene.turns(0, 95, Turns { turn_us: 5_000, ..BUSY });
    let times = Times { accepted: Some(100), closed: Some(100), ..Times::queued(3, 100) };
    let fetch = scene.fetch(0, times);
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Convoy, 1), (Cause::AcceptQueue, 96)]);
}

/// A fetch whose handshake took `ms`, or never came about, and was all there was of it.
fn handshake(ms: u64, done: bool, overflow: bool) -> Vec<(Cause, u128)> {
    let mut scene = sleeping();
    let connected = done.then_some(ms);
    let outcome = if done { Outcome::TimeoutNoByte } else { Outcome::TimeoutConnect };
    let fetch = scene.fetch(0, Times { connected, outcome, ..Times::queued(0, ms) });
    if overflow {
        scene.overflow();
    }
    scene.look();
    scene.causes(fetch)
}

#[test]
fn a_handshake_was_dropped_only_where_the_kernel_counted_it() {
    for (ms, done) in [(1_000, false), (3_050, true), (1_010, true)] {
        assert_eq!(handshake(ms, done, true), [(Cause::BacklogOverflow, ms.into())]);
        assert_eq!(handshake(ms, done, false), [(Cause::Unexplained, ms.into())]);
    }
}

#[test]
fn a_handshake_that_nothing_was_dropped_of_waited_for_its_client() {
    for overflow in [true, false] {
        assert_eq!(handshake(150, true, overflow), [(Cause::Client, 150)]);
        assert_eq!(handshake(500, true, overflow), [(Cause::Unexplained, 500)]);
    }
}

/// A dropped SYN is answered by silence, not by a refusal.
#[test]
fn a_connection_that_was_refused_was_not_dropped() {
    assert_eq!(handshake(3, false, true), [(Cause::Unexplained, 3)]);
}

#[test]
fn counters_that_are_hidden_show_no_overflow() {
    let mut scene = sleeping();
    let outcome = Outcome::TimeoutConnect;
    let fetch = scene.fetch(0, Times { connected: None, outcome, ..Times::queued(0, 1_000) });
    scene.run.records.manifest.kernel_counters.clear();
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Unexplained, 1_000)]);
    let hidden = scene.explain().late.hidden;
    assert_eq!(hidden.iter().map(|h| h.cause).collect::<Vec<_>>(), [Cause::BacklogOverflow]);
}

#[test]
fn an_idle_worker_waits_for_the_origin_until_the_head() {
    let mut scene = turning(HALF_IDLE);
    scene.poll(0, 1_000);
    let fetch = scene.fetch(0, Times::awaiting(0, 2_000));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Convoy, 500), (Cause::Upstream, 1_500)]);
}

#[test]
fn an_idle_worker_waits_for_its_client_until_the_request() {
    let mut scene = sleeping();
    let times = Times { request: Some(600), ..Times::awaiting(100, 900) };
    let fetch = scene.fetch(0, times);
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Upstream, 300), (Cause::Client, 500)]);
}

#[test]
fn long_waits_in_the_body_are_of_the_side_that_made_them() {
    let mut scene = sleeping();
    let fetch = scene.fetch(0, Times::body(0, 1_000));
    scene.session().steps_us = Micros(100_000);
    scene.session().stalled_upstream_us = Micros(450_000);
    scene.session().stalled_client_us = Micros(180_000);
    scene.look();
    // A poll of a second, and steps of 100 ms in it: the stalls are parts of the other 900 ms.
    let expected = [(Cause::Upstream, 500), (Cause::OwnTransfer, 300), (Cause::Client, 200)];
    assert_eq!(scene.causes(fetch), expected);
}

#[test]
fn short_waits_in_the_body_are_bytes_on_their_way() {
    let mut scene = sleeping();
    let fetch = scene.fetch(0, Times::body(0, 1_000));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::OwnTransfer, 1_000)]);
}

#[test]
fn a_client_may_be_late_at_both_ends() {
    let mut scene = turning(BUSY);
    let times = Times { started: 300, connected: Some(300), ..Times::awaiting(0, 1_000) };
    let times = Times { accepted: Some(300), request: Some(300), closed: Some(800), ..times };
    let fetch = scene.fetch(0, times);
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Convoy, 500), (Cause::Client, 500)]);
    let spells = scene.split(fetch).pieces.into_iter().map(|piece| piece.hands);
    let mut spells: Vec<Hands> = spells.collect();
    spells.dedup();
    assert_eq!(spells, [Hands::Unsent, Hands::AwaitingHead, Hands::Closed]);
}

#[test]
fn nobody_accepted_while_every_worker_was_held() {
    let (mut scene, _) = held(2, 0);
    let other = scene.download(1, 1);
    scene.poll(1, 400);
    scene.hold(other, 600, 0);
    let fetch = scene.fetch(0, Times::queued(100, 900));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::HeldByStep, 500), (Cause::Unexplained, 300)]);
    assert_eq!(scene.split(fetch).worker, None);
}

/// A worker of which nothing is told may have been free.
#[test]
fn nobody_accepted_while_a_worker_was_free() {
    let (mut scene, _) = held(2, 0);
    let fetch = scene.fetch(0, Times::queued(100, 900));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Unexplained, 800)]);
    scene.poll(1, 1_000);
    assert_eq!(scene.causes(fetch), [(Cause::Unexplained, 800)]);
}

#[test]
fn what_a_lost_stretch_would_have_told_is_unexplained() {
    let mut scene = Scene::new(1);
    scene.turns(0, 300, BUSY);
    scene.lost(0, 400);
    scene.turns(0, 300, BUSY);
    let fetch = scene.fetch(0, Times::awaiting(0, 1_000));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Convoy, 600), (Cause::Unexplained, 400)]);
}

#[test]
fn a_worker_that_tells_nothing_explains_nothing() {
    let mut scene = Scene::new(1);
    let fetch = scene.fetch(0, Times::awaiting(100, 900));
    scene.look();
    assert_eq!(scene.causes(fetch), [(Cause::Unexplained, 800)]);
}
