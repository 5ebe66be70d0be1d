use records::MonoNs;

use crate::fixture::{Scene, Times, at};

use super::*;

const PORT: u16 = 5_000;

fn told(upstream_port: u16, asked: u64) -> Answered {
    Answered { upstream_port, request_ns: at(asked), head_ns: Some(at(asked + 1)) }
}

/// A session from 100 to 900 ms, of which the request was whole at 200 ms.
fn session() -> Session {
    let mut scene = Scene::new(1);
    scene.fetch(0, Times { request: Some(200), ..Times::awaiting(100, 900) });
    Session { upstream_port: Some(PORT), ..scene.session().clone() }
}

/// When the request was read that is told to be the session's.
fn found(told: &[Answered], session: &Session) -> Option<MonoNs> {
    Answers::of(told).to(session).map(|answered| answered.request_ns)
}

#[test]
fn a_session_asked_from_its_port_while_it_lasted() {
    let all = [(PORT, 901), (PORT, 300), (PORT, 199), (PORT + 1, 250), (PORT, 400)]
        .map(|(port, asked)| told(port, asked));
    assert_eq!(found(&all, &session()), Some(at(300)));
    assert_eq!(found(&all[..1], &session()), None, "it had ended");
    assert_eq!(found(&all[2..4], &session()), None, "one came before, one from elsewhere");
}

#[test]
fn the_bounds_of_a_session_are_its_own() {
    for asked in [200, 900] {
        assert_eq!(found(&[told(PORT, asked)], &session()), Some(at(asked)));
    }
}

#[test]
fn a_session_that_asked_nothing_has_no_answer() {
    let all = [told(PORT, 300)];
    assert_eq!(found(&all, &Session { upstream_port: None, ..session() }), None);
    assert_eq!(found(&all, &Session { request_ns: None, ..session() }), None);
    assert_eq!(found(&[], &session()), None);
}
