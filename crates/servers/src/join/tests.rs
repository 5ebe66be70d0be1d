use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::slice::from_ref;

use proptest::prelude::*;
use records::{LogTimes, Micros, SessionEnd};

use super::*;
use crate::log::Served;

const SECOND: u64 = 1_000_000_000;

fn session(worker: u32, number: u64, port: u16, from: u64, to: u64) -> Session {
    Session {
        worker,
        session: number,
        client_port: port,
        upstream_port: Some(9),
        accepted_ns: MonoNs(from),
        closed_ns: MonoNs(to),
        steps: 3,
        longest_step_us: Micros(7),
        ..Session::default()
    }
}

fn accepted(session: &Session) -> Accepted {
    Accepted {
        worker: session.worker,
        session: session.session,
        client_port: session.client_port,
        at_ns: session.accepted_ns,
    }
}

fn line(worker: Option<u32>, port: u16, at: u64, request: &str) -> Entry {
    let session = Session {
        client_port: port,
        request: request.to_owned(),
        status: 200,
        end: SessionEnd::Completed,
        body_bytes: Bytes(5),
        log: LogTimes { rt_ms: 40, ..LogTimes::default() },
        closed_ns: MonoNs(at),
        ..Session::default()
    };
    let served = worker.map_or(Served::Unknown, Served::Worker);
    Entry { client: Ipv4Addr::LOCALHOST.into(), served, session }
}

/// What is told of connections that the trace saw accept and, if they ended, end, and of these lines.
fn joined(open: &[Session], ended: &[Session], lines: Vec<Entry>) -> Vec<Session> {
    let mut seen = Seen::default();
    open.iter().chain(ended).for_each(|session| seen.accepted(accepted(session)));
    ended.iter().for_each(|session| seen.ended(session.clone()));
    seen.join(lines)
}

#[test]
fn a_session_has_its_times_from_the_trace_and_its_words_from_the_log() {
    let seen = session(1, 4, 80, SECOND, 2 * SECOND);
    let told = joined(&[], from_ref(&seen), vec![line(Some(1), 80, 2 * SECOND, "GET /a")]);
    let expected = Session {
        request: "GET /a".to_owned(),
        status: 200,
        end: SessionEnd::Completed,
        body_bytes: Bytes(5),
        log: LogTimes { rt_ms: 40, ..LogTimes::default() },
        ..seen.clone()
    };
    assert_eq!(told, [expected]);
    assert_eq!(joined(&[], from_ref(&seen), vec![]), [seen], "it asked nothing");
}

#[test]
fn a_line_that_no_trace_saw_is_told_by_itself() {
    let other = session(0, 0, 81, 1, 2);
    let told = joined(&[], from_ref(&other), vec![line(Some(1), 80, 9 * SECOND, "GET /a")]);
    let [first, alone] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(*first, other);
    assert_eq!((alone.worker, alone.session), (1, UNSEEN), "no number of the trace's");
    assert_eq!(alone.closed_ns, MonoNs(9 * SECOND));
    assert_eq!(alone.accepted_ns, MonoNs(9 * SECOND - 40_000_000));

    // Without any trace they are counted from 0; a log may claim any length.
    let mut lines: Vec<_> = [(0, 1), (1, 2), (0, 3)]
        .map(|(worker, port)| line(Some(worker), port, SECOND + u64::from(port), "a"))
        .into();
    lines[0].session.log.rt_ms = u64::MAX;
    let told = joined(&[], &[], lines);
    let numbers: Vec<_> = told.iter().map(|one| (one.worker, one.session)).collect();
    assert_eq!(numbers, [(0, 0), (1, 0), (0, 1)]);
    assert_eq!(told[0].accepted_ns, MonoNs(0));
}

#[test]
fn several_requests_of_a_connection_are_one_session() {
    let seen = session(0, 7, 80, SECOND, 60 * SECOND);
    let lines =
        || [(2, "GET /a"), (3, "GET /b")].map(|(at, request)| line(None, 80, at * SECOND, request));
    for (open, ended) in [(vec![], vec![seen.clone()]), (vec![seen.clone()], vec![])] {
        let told = joined(&open, &ended, lines().into());
        let [session] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!((session.request.as_str(), session.body_bytes), ("GET /a", Bytes(10)), "both");
        // Also of one whose end the trace did not see.
        assert_eq!((session.session, session.accepted_ns), (7, MonoNs(SECOND)));
    }
    assert_eq!(joined(&[seen], &[], vec![]), [], "it did not end, and asked nothing");
}

#[test]
fn a_clock_that_stood_still_finds_its_session() {
    // Two from one port; the second's line has the time of a turn that began before its accept.
    let ended = [session(0, 1, 80, SECOND, 2 * SECOND), session(0, 2, 80, 8 * SECOND, 9 * SECOND)];
    let lines = [(2 * SECOND - 1, "first"), (4 * SECOND, "second")];
    let told = joined(&[], &ended, lines.map(|(at, text)| line(Some(0), 80, at, text)).into());
    let numbers: Vec<_> = told.iter().map(|s| (s.session, s.request.as_str())).collect();
    assert_eq!(numbers, [(1, "first"), (2, "second")]);
}

/// One connection of a history.
#[derive(Clone, Debug)]
struct Life {
    port: u16,
    worker: u32,
    from: u64,
    to: u64,
    logged: bool,
}

/// Connections from few ports that follow each other, as a client that dials again makes them.
fn history() -> impl Strategy<Value = Vec<Life>> {
    let one = (0..3_u16, 0..2_u32, 10..500_u64, 1..800_u64, any::<bool>());
    prop::collection::vec(one, 1..30).prop_map(|all| {
        let mut free = [0_u64; 3];
        let ms = 1_000_000;
        all.into_iter()
            .map(|(port, worker, pause, length, logged)| {
                let from = free[usize::from(port)] + pause * ms;
                free[usize::from(port)] = from + length * ms;
                Life { port, worker, from, to: from + length * ms, logged }
            })
            .collect()
    })
}

proptest! {
    /// However long a clock stands still, every session is told once and with its own words.
    #[test]
    fn every_session_is_told_once_with_its_own_line(lives in history(), early_us in 0..5_000_u64) {
        let (mut ended, mut lines) = (Vec::new(), Vec::new());
        for (index, life) in lives.iter().enumerate() {
            ended.push(session(life.worker, index as u64, life.port, life.from, life.to));
            if life.logged {
                let at = life.to - (early_us * 1_000).min(life.to - life.from);
                lines.push(line(Some(life.worker), life.port, at, &index.to_string()));
            }
        }
        let told = joined(&[], &ended, lines);
        let numbers: BTreeSet<u64> = told.iter().map(|session| session.session).collect();
        prop_assert_eq!(numbers.len(), lives.len(), "each once");
        prop_assert_eq!(told.len(), lives.len(), "no more");
        for session in &told {
            let index = usize::try_from(session.session).expect("one of ours");
            let life = &lives[index];
            let words = if life.logged { index.to_string() } else { String::new() };
            prop_assert_eq!(&session.request, &words);
            prop_assert_eq!(session.accepted_ns, MonoNs(life.from));
        }
    }
}
