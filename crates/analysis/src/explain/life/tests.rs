use records::Answered;

use crate::fixture::{Scene, Times, at};
use crate::join::Join;

use super::*;

/// The spells of a fetch: which, and until when in ms.
fn spells(times: Times) -> Vec<(Hands, u64)> {
    spells_beside(times, None, None)
}

/// The same of a fetch whose worker saw its connection to the origin stand at `connected`, and of
/// which the origin told this.
fn spells_beside(
    times: Times,
    connected: Option<u64>,
    answered: Option<Answered>,
) -> Vec<(Hands, u64)> {
    let mut scene = Scene::new(1);
    let index = scene.fetch(0, times);
    if connected.is_some() {
        scene.session().connected_ns = connected.map(at);
    }
    let answered = answered.as_ref();
    let records = &scene.run.records;
    let join = Join::of(records);
    let life = Life::of(&records.fetches[index], join.fetch(index), answered);
    assert_eq!(life.whole, Window::new(at(times.wanted), at(times.ended)));
    let until = |window: Window| window.end.since(at(0)).as_millis();
    let until = |window| u64::try_from(until(window)).expect("short");
    life.spells.into_iter().map(|(window, spell)| (spell, until(window))).collect()
}

/// Each of its milestones 100 ms after the one before.
fn whole() -> Times {
    Times {
        wanted: 0,
        started: 100,
        connected: Some(200),
        accepted: Some(300),
        request: Some(400),
        head: Some(500),
        closed: Some(600),
        ended: 700,
        outcome: Outcome::Ok,
    }
}

#[test]
fn a_whole_life() {
    let expected = [
        (Hands::Unsent, 100),
        (Hands::Handshake, 200),
        (Hands::Queued, 300),
        (Hands::Asking, 400),
        (Hands::AwaitingHead, 500),
        (Hands::Body, 600),
        (Hands::Closed, 700),
    ];
    assert_eq!(spells(whole()), expected);
}

/// The origin had its request at 430 ms.
fn told(head: Option<u64>) -> Option<Answered> {
    Some(Answered { upstream_port: 1, request_ns: at(430), head_ns: head.map(at) })
}

#[test]
fn a_life_in_which_the_origin_tells_when_it_answered() {
    use Hands::{AwaitingHead, AwaitingOrigin, Body};
    let of_head = |connected, answered| {
        let spells = spells_beside(whole(), connected, answered);
        spells[4..spells.len() - 1].to_vec()
    };
    let thinks = [(AwaitingHead, 420), (AwaitingOrigin, 480), (AwaitingHead, 500), (Body, 600)];
    assert_eq!(of_head(Some(420), told(Some(480))), thinks);
    let asked = [(AwaitingHead, 430), (AwaitingOrigin, 480), (AwaitingHead, 500), (Body, 600)];
    assert_eq!(of_head(None, told(Some(480))), asked, "sent when the origin had it");
    assert_eq!(of_head(Some(440), told(Some(480))), asked, "or sooner than it was told");
    let seen = [(AwaitingOrigin, 480), (AwaitingHead, 500), (Body, 600)];
    assert_eq!(of_head(Some(400), told(Some(480))), seen, "connected and asked at once");
    // What cannot be: read before it was sent, or never sent. The worker's word counts.
    let read = [(AwaitingHead, 420), (AwaitingOrigin, 500), (Body, 600)];
    assert_eq!(of_head(Some(420), told(Some(550))), read);
    assert_eq!(of_head(Some(420), told(None)), read);
}

#[test]
fn an_origin_that_never_answers_has_the_rest_of_a_life() {
    let times = Times { head: None, ..whole() };
    let spells = spells_beside(times, Some(420), told(None));
    let expected = [(Hands::AwaitingHead, 420), (Hands::AwaitingOrigin, 600), (Hands::Closed, 700)];
    assert_eq!(spells[4..], expected);
}

#[test]
fn a_client_gives_up_at_any_point() {
    for (count, ended) in [(2, 150), (3, 250), (4, 350), (5, 450), (6, 550)] {
        let spells = spells(Times { ended, ..whole() });
        assert_eq!((spells.len(), spells.last().map(|last| last.1)), (count, Some(ended)));
    }
}

/// A worker that is held accepts after its client gave up.
#[test]
fn who_is_accepted_too_late_was_queued_to_its_end() {
    let times =
        Times { accepted: Some(900), request: None, head: None, closed: Some(901), ..whole() };
    assert_eq!(
        spells(times),
        [(Hands::Unsent, 100), (Hands::Handshake, 200), (Hands::Queued, 700)]
    );
}

#[test]
fn who_is_never_accepted_was_queued_to_its_end() {
    let spells = spells(Times { accepted: None, closed: None, ..whole() });
    assert_eq!(spells, [(Hands::Unsent, 100), (Hands::Handshake, 200), (Hands::Queued, 700)]);
}

#[test]
fn a_handshake_that_never_came_about() {
    let times = Times { connected: None, accepted: None, closed: None, ..whole() };
    for outcome in [Outcome::TimeoutConnect, Outcome::Refused, Outcome::LocalError] {
        let times = Times { outcome, ..times };
        assert_eq!(spells(times), [(Hands::Unsent, 100), (Hands::Handshake, 700)]);
    }
}

/// The client was told of its handshake after the worker had accepted, or never.
#[test]
fn a_worker_may_know_of_a_handshake_before_its_client() {
    let early = Times { accepted: Some(150), ..whole() };
    let expected = [(Hands::Unsent, 100), (Hands::Handshake, 150), (Hands::Asking, 400)];
    assert_eq!(spells(early)[..3], expected);
    let never = Times { connected: None, ..whole() };
    let expected = [(Hands::Unsent, 100), (Hands::Queued, 300), (Hands::Asking, 400)];
    assert_eq!(spells(never)[..3], expected);
}

#[test]
fn a_session_that_did_not_end_tells_nothing() {
    let spells = spells(Times { closed: None, ..whole() });
    assert_eq!(spells[2..], [(Hands::Queued, 300), (Hands::Unknown, 700)]);
}

#[test]
fn milestones_that_are_missing_were_not_reached() {
    let no_head = spells(Times { head: None, ..whole() });
    assert_eq!(no_head[4..], [(Hands::AwaitingHead, 600), (Hands::Closed, 700)]);
    let no_request = spells(Times { request: None, head: None, ..whole() });
    assert_eq!(no_request[3..], [(Hands::Asking, 600), (Hands::Closed, 700)]);
}

/// A session is over when it is closed, whatever it says of later times.
#[test]
fn milestones_out_of_order_count_up_to_the_end() {
    let late_head = spells(Times { head: Some(650), ..whole() });
    assert_eq!(late_head[4..], [(Hands::AwaitingHead, 600), (Hands::Closed, 700)]);
    let late_request = spells(Times { request: Some(650), ..whole() });
    assert_eq!(late_request[3..], [(Hands::Asking, 600), (Hands::Closed, 700)]);
    let closed_first = spells(Times { closed: Some(250), ..whole() });
    assert_eq!(closed_first[2..], [(Hands::Queued, 300), (Hands::Closed, 700)]);
}

#[test]
fn a_fetch_that_took_no_time_has_no_spells() {
    assert_eq!(spells(Times::queued(100, 100)), []);
}
