use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

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
        request: String::new(),
        status: 0,
        end: SessionEnd::Shutdown,
        body_bytes: Bytes(0),
        accepted_ns: MonoNs(from),
        request_ns: None,
        connected_ns: None,
        head_ns: None,
        closed_ns: MonoNs(to),
        log: LogTimes::default(),
        steps: 3,
        longest_step_us: Micros(7),
        steps_us: Micros(9),
        stalled_upstream_us: Micros(0),
        stalled_client_us: Micros(0),
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

fn line(worker: Option<u32>, port: u16, at: u64, request: &str) -> Line {
    Line {
        entry: Entry {
            client: IpAddr::V4(Ipv4Addr::LOCALHOST),
            client_port: port,
            served: Served::Unknown,
            request: request.to_owned(),
            status: 200,
            end: SessionEnd::Completed,
            body_bytes: Bytes(5),
            times: LogTimes { rt_ms: 40, ..LogTimes::default() },
        },
        worker,
        at_ns: MonoNs(at),
    }
}

#[test]
fn a_log_may_claim_any_length() {
    let mut join = Join::new(Witnesses::Log);
    let mut line = line(Some(1), 80, 2 * SECOND, "GET /a");
    line.entry.times.rt_ms = u64::MAX;
    let told = join.logged(line, MonoNs(2 * SECOND));
    let bounds: Vec<_> = told.iter().map(|one| (one.accepted_ns, one.closed_ns)).collect();
    assert_eq!(bounds, [(MonoNs(0), MonoNs(2 * SECOND))]);
}

#[test]
fn a_session_has_its_times_from_the_trace_and_its_words_from_the_log() {
    let seen = session(1, 4, 80, SECOND, 2 * SECOND);
    for line_first in [true, false] {
        let mut join = Join::new(Witnesses::Both);
        join.accepted(accepted(&seen));
        let now = MonoNs(2 * SECOND);
        let line = line(Some(1), 80, 2 * SECOND, "GET /a");
        let mut told = Vec::new();
        if line_first {
            told.extend(join.logged(line.clone(), now));
            assert!(told.is_empty(), "it is open");
        }
        told.extend(join.traced(seen.clone(), now));
        if !line_first {
            assert!(told.is_empty() && join.is_waiting());
            told.extend(join.logged(line, now));
        }
        let expected = Session {
            request: "GET /a".to_owned(),
            status: 200,
            end: SessionEnd::Completed,
            body_bytes: Bytes(5),
            log: LogTimes { rt_ms: 40, ..LogTimes::default() },
            ..seen.clone()
        };
        assert_eq!(told, [expected]);
        assert!(!join.is_waiting() && join.finish().is_empty());
    }
}

#[test]
fn what_asked_nothing_is_told_after_a_while() {
    let mut join = Join::new(Witnesses::Both);
    let seen = session(0, 0, 80, SECOND, 2 * SECOND);
    assert!(join.traced(seen.clone(), MonoNs(2 * SECOND)).is_empty());
    assert!(join.due(MonoNs(3 * SECOND)).is_empty());
    assert_eq!(join.due(MonoNs(4 * SECOND)), [seen]);
    assert!(!join.is_waiting());
}

#[test]
fn a_line_that_no_trace_saw_is_told_by_itself() {
    let mut join = Join::new(Witnesses::Both);
    assert!(join.logged(line(Some(1), 80, 9 * SECOND, "GET /a"), MonoNs(9 * SECOND)).is_empty());
    let told = join.due(MonoNs(11 * SECOND));
    let [session] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((session.worker, session.session), (1, UNSEEN), "no number of the trace's");
    assert_eq!(session.closed_ns, MonoNs(9 * SECOND));
    assert_eq!(session.accepted_ns, MonoNs(9 * SECOND - 40_000_000));
}

#[test]
fn a_line_of_an_open_connection_waits_for_its_end() {
    let mut join = Join::new(Witnesses::Both);
    let seen = session(0, 7, 80, SECOND, 60 * SECOND);
    join.accepted(accepted(&seen));
    assert!(join.logged(line(Some(0), 80, 2 * SECOND, "GET /a"), MonoNs(2 * SECOND)).is_empty());
    assert!(join.logged(line(Some(0), 80, 3 * SECOND, "GET /b"), MonoNs(3 * SECOND)).is_empty());
    assert!(join.due(MonoNs(30 * SECOND)).is_empty());
    let told = join.traced(seen, MonoNs(60 * SECOND));
    let [session] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((session.request.as_str(), session.body_bytes), ("GET /a", Bytes(10)), "both");
}

#[test]
fn a_line_of_a_connection_that_never_ended_keeps_its_accept() {
    let mut join = Join::new(Witnesses::Both);
    let seen = session(0, 7, 80, SECOND, 60 * SECOND);
    join.accepted(accepted(&seen));
    assert!(join.logged(line(None, 80, 2 * SECOND, "GET /a"), MonoNs(2 * SECOND)).is_empty());
    let told = join.finish();
    let [session] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((session.session, session.accepted_ns), (7, MonoNs(SECOND)));
}

#[test]
fn a_clock_that_stood_still_finds_its_session() {
    // Two from one port; the second's line has the time of a turn that began before its accept.
    let mut join = Join::new(Witnesses::Both);
    let first = session(0, 1, 80, SECOND, 2 * SECOND);
    let second = session(0, 2, 80, 8 * SECOND, 9 * SECOND);
    let mut told = join.traced(first, MonoNs(2 * SECOND));
    told.extend(join.logged(line(Some(0), 80, 2 * SECOND - 1, "first"), MonoNs(2 * SECOND)));
    join.accepted(accepted(&second));
    told.extend(join.logged(line(Some(0), 80, 4 * SECOND, "second"), MonoNs(9 * SECOND)));
    told.extend(join.traced(second, MonoNs(9 * SECOND)));
    // It could be the line of one that the trace has not told yet.
    assert_eq!(told.len(), 1);
    told.extend(join.due(MonoNs(11 * SECOND)));
    let numbers: Vec<_> = told.iter().map(|s| (s.session, s.request.as_str())).collect();
    assert_eq!(numbers, [(1, "first"), (2, "second")]);
}

#[test]
fn one_witness_needs_no_other() {
    let mut log = Join::new(Witnesses::Log);
    let numbers: Vec<_> = [(0, 1), (1, 2), (0, 3)]
        .into_iter()
        .flat_map(|(worker, port)| log.logged(line(Some(worker), port, SECOND, "a"), MonoNs(0)))
        .map(|session| (session.worker, session.session))
        .collect();
    assert_eq!(numbers, [(0, 0), (1, 0), (0, 1)]);

    let mut trace = Join::new(Witnesses::Trace);
    let seen = session(0, 0, 80, 1, 2);
    assert_eq!(trace.traced(seen.clone(), MonoNs(2)), [seen]);
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

/// What reaches the join, and when.
enum Event {
    Accepted(usize),
    Traced(usize),
    Logged(usize),
}

proptest! {
    /// However late each witness speaks, every session is told once and with its own words.
    #[test]
    fn every_session_is_told_once_with_its_own_line(
        lives in history(),
        delays in prop::collection::vec((0..400_u64, 0..400_u64), 30),
        early_us in 0..5_000_u64,
    ) {
        let ms = 1_000_000;
        let mut events = Vec::new();
        for (index, (life, (trace, log))) in lives.iter().zip(&delays).enumerate() {
            events.push((life.from + trace * ms, 0, Event::Accepted(index)));
            events.push((life.to + trace * ms, 1, Event::Traced(index)));
            if life.logged {
                events.push((life.to + log * ms, 2, Event::Logged(index)));
            }
        }
        events.sort_by_key(|(at, order, _)| (*at, *order));
        let mut join = Join::new(Witnesses::Both);
        let mut told = Vec::new();
        for (at, _, event) in events {
            let now = MonoNs(at);
            let seen = |index: usize| {
                let life = &lives[index];
                session(life.worker, index as u64, life.port, life.from, life.to)
            };
            match event {
                Event::Accepted(index) => join.accepted(accepted(&seen(index))),
                Event::Traced(index) => told.extend(join.traced(seen(index), now)),
                Event::Logged(index) => {
                    let life = &lives[index];
                    let early = (early_us * 1_000).min(life.to - life.from);
                    let at = life.to - early;
                    told.extend(join.logged(
                        line(Some(life.worker), life.port, at, &index.to_string()),
                        now,
                    ));
                }
            }
            told.extend(join.due(now));
        }
        told.extend(join.finish());
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
