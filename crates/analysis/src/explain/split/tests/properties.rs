//! What holds of any run: the parts of a fetch sum to its time, and an independent reckoning of time
//! inside others' steps, straight from the records of steps and of the origin, finds the same: there
//! the life of a fetch is walked instant by instant.

use std::time::Duration;

use proptest::prelude::*;
use records::{Accepted, Answered, Cause, Fetch, MonoNs, Outcome, RunRecords, Session};

use crate::explain::context::Context;
use crate::explain::life::Life;
use crate::explain::shares::Shares;
use crate::explain::split::all;
use crate::tests::random::{Cpu, WORKERS, garbage, runs};

/// Random runs are told in whole ms.
const STEP: Duration = Duration::from_millis(1);

proptest! {
    #[test]
    fn the_parts_of_a_fetch_sum_to_its_time(records in runs(Cpu::Random)) {
        assert_sums(&records)?;
        for (fetch, split) in records.fetches.iter().zip(all(&Context::of(&records))) {
            prop_assert_eq!(split.shares.total(), fetch.response_us.as_duration());
        }
    }

    #[test]
    fn the_parts_of_garbage_sum_to_its_time(records in garbage()) {
        assert_sums(&records)?;
    }
}

/// Late or not: pieces are in order, without a gap, and cover the life of each fetch; the causes of
/// each sum to its length, and all of them to those of the fetch.
fn assert_sums(records: &RunRecords) -> Result<(), TestCaseError> {
    let context = Context::of(records);
    let splits = all(&context);
    prop_assert_eq!(splits.len(), records.fetches.len());
    for ((index, fetch), split) in records.fetches.iter().enumerate().zip(&splits) {
        prop_assert_eq!(split.index, index);
        let life = Life::of(fetch, context.join.fetch(index), None).whole;
        prop_assert_eq!(split.shares.total(), life.length());
        let mut sum = Shares::default();
        let mut end = life.start;
        for piece in &split.pieces {
            prop_assert_eq!(piece.window.start, end);
            prop_assert!(piece.window.end > piece.window.start);
            prop_assert_eq!(piece.shares.total(), piece.window.length());
            end = piece.window.end;
            sum.merge(&piece.shares);
        }
        prop_assert_eq!(end, life.end);
        prop_assert_eq!(sum, split.shares);
        let held = split.held.values().sum::<Duration>();
        prop_assert!(held <= life.length());
        prop_assert!(split.held.keys().all(|&hold| hold < records.holds.len()));
        // Steps are named only where it is known whose they were.
        let named = split.worker.is_none() || split.shares.of(Cause::HeldByStep) <= held;
        prop_assert!(named);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn time_in_steps_of_others_is_what_a_walk_finds(records in runs(Cpu::Always)) {
        let mut records = on_ports_of_their_own(records);
        // One queue, so that any worker might have accepted any fetch.
        records.manifest.arm.proxy.reuseport = false;
        for (index, split) in all(&Context::of(&records)).iter().enumerate() {
            let fetch = &records.fetches[index];
            let (found, expected) = (split.shares.of(Cause::HeldByStep), walk(&records, fetch));
            prop_assert_eq!(found, expected, "fetch {}", index);
        }
    }
}

/// Each fetch gets a port that nobody else uses, and no step before it was accepted: who belongs to
/// whom is another module's business.
fn on_ports_of_their_own(mut records: RunRecords) -> RunRecords {
    let port = |fetch: u64| u16::try_from(60_000 + fetch).expect("few");
    for fetch in &mut records.fetches {
        fetch.client_port = Some(port(fetch.fetch));
    }
    // The session of a fetch has its number, and 1,000.
    let of = |session: u64| session.checked_sub(1_000).map(port);
    for accepted in &mut records.accepted {
        accepted.client_port = of(accepted.session).unwrap_or(accepted.client_port);
    }
    for session in &mut records.sessions {
        session.client_port = of(session.session).unwrap_or(session.client_port);
    }
    for hold in &mut records.holds {
        let accepted = records.accepted.iter().find(|accepted| accepted.session == hold.session);
        let was_there = accepted.is_some_and(|accepted| accepted.at_ns <= hold.start_ns);
        hold.session = if was_there { hold.session } else { 1 };
        hold.client_port = of(hold.session).unwrap_or(40_000);
    }
    records
}

/// Time of a fetch's life in which it was in the proxy's hands, and another session's step was
/// under way on its worker, but the origin did not have it; of a fetch that nobody accepted, on the
/// worker where that was least.
fn walk(records: &RunRecords, fetch: &Fetch) -> Duration {
    let number = fetch.fetch + 1_000;
    let accepted = records.accepted.iter().find(|accepted| accepted.session == number);
    let session = records.sessions.iter().find(|session| session.session == number);
    let Some((from, to)) = in_hands(fetch, accepted, session) else { return Duration::ZERO };
    let end = to.min(fetch.intended_ns + fetch.response_us.as_duration());
    let held_by = |worker: u32| {
        let mut held = Duration::ZERO;
        let mut now = from.max(fetch.intended_ns);
        while now < end {
            let inside = records.holds.iter().any(|hold| {
                let own = accepted.is_some() && hold.session == number;
                hold.worker == worker && !own && hold.start_ns <= now && now < hold.end_ns
            });
            let at_origin = session.is_some_and(|session| is_at_origin(records, session, now));
            held += if inside && !at_origin { STEP } else { Duration::ZERO };
            now = now + STEP;
        }
        held
    };
    let least = || (0..WORKERS).map(held_by).min().unwrap_or_default();
    accepted.map_or_else(least, |accepted| held_by(accepted.worker))
}

/// Whether the origin had been asked by `session` and had not answered.
fn is_at_origin(records: &RunRecords, session: &Session, now: MonoNs) -> bool {
    let (Some(asked), Some(port)) = (session.request_ns, session.upstream_port) else {
        return false;
    };
    let of_session = |told: &&Answered| {
        told.upstream_port == port && (asked..=session.closed_ns).contains(&told.request_ns)
    };
    let told = records.answered.iter().filter(of_session).min_by_key(|told| told.request_ns);
    let read = session.head_ns.unwrap_or(session.closed_ns).min(session.closed_ns);
    told.is_some_and(|told| {
        let sent = session.connected_ns.map_or(told.request_ns, |at| at.min(told.request_ns));
        let from = sent.max(asked).max(session.accepted_ns);
        from <= now && now < told.head_ns.map_or(read, |head| head.min(read))
    })
}

/// From when to when it was the proxy's: from the end of the handshake, as its client or the accept
/// tells of it, to the end of its session.
fn in_hands(
    fetch: &Fetch,
    accepted: Option<&Accepted>,
    session: Option<&Session>,
) -> Option<(MonoNs, MonoNs)> {
    let connected = fetch.connect_us.map(|connect| fetch.start_ns + connect.as_duration());
    let by_accept = accepted.map(|accepted| accepted.at_ns);
    let from = match (connected, by_accept) {
        (Some(connected), Some(accepted)) => connected.min(accepted).max(fetch.start_ns),
        (Some(connected), None) => connected,
        (None, Some(_)) if fetch.outcome != Outcome::TimeoutConnect => fetch.start_ns,
        (None, _) => return None,
    };
    let closed = session.map_or(MonoNs(u64::MAX), |session| session.closed_ns);
    Some((from, by_accept.map_or(closed, |accepted| closed.max(accepted))))
}
