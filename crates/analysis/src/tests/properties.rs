//! What holds of any run: every fetch counts, the parts of each sum to its time, and all of them to the late
//! time; and an independent reckoning of time inside others' steps, straight from the records of steps and
//! of the origin, finds the same: there the life of a fetch is walked instant by instant.

use std::time::Duration;

use proptest::prelude::*;
use records::{
    Accepted, Answered, Cause, Fetch, Micros, MonoNs, Outcome, Phase, ProxyKind, RunRecords,
    Session,
};

use super::random::{Cpu, WORKERS, garbage, runs};
use super::scene::Scene;
use crate::explain::life::Life;
use crate::explain::split::all;
use crate::explain::{Context, Shares, explain};
use crate::figures::log::Logged;
use crate::summarise;
use crate::thresholds::IdlePhase;

/// An idle phase that is a baseline.
pub(crate) const SOUND: IdlePhase = IdlePhase { limit_us: Micros(200_000), stalled: 0, of: 40 };

/// Random runs are told in whole ms.
const STEP: Duration = Duration::from_millis(1);

proptest! {
    #[test]
    fn a_run_is_explained_as_a_whole(script in runs(Cpu::Random)) {
        let records = Scene::of(&script).run.records;
        assert_sums(&records)?;
        assert_whole(&records)?;
        for (fetch, split) in records.fetches.iter().zip(all(&Context::of(&records))) {
            prop_assert_eq!(split.shares.total(), fetch.response_us.as_duration());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn so_is_garbage_and_nothing_panics(records in garbage()) {
        assert_figures(&records)?;
        assert_sums(&records)?;
        assert_whole(&records)?;
    }
}

/// Outcomes add up, and so do statuses.
fn assert_figures(records: &RunRecords) -> Result<(), TestCaseError> {
    let summary = summarise(records);
    for (phase, fetches) in [(Phase::Idle, &summary.idle), (Phase::Measure, &summary.measure)] {
        let made = records.fetches.iter().filter(|fetch| fetch.phase == phase).count();
        prop_assert_eq!(fetches.attempts, made as u64);
        let sum: u64 = Outcome::ALL.into_iter().map(|o| fetches.outcomes.count(o)).sum();
        prop_assert_eq!(sum, fetches.attempts);
        let l = fetches.latency_us;
        prop_assert!(l.min <= l.p50 && l.p50 <= l.p90 && l.p90 <= l.p99 && l.p99 <= l.max);
        prop_assert!((0.0..=1.0).contains(&fetches.failed_share));
    }
    let logged: u64 = summary.proxy.status_counts.values().sum();
    prop_assert_eq!(logged + summary.proxy.unlogged.attempts(), summary.measure.attempts);
    for (status, count) in &summary.proxy.status_counts {
        prop_assert_eq!(summary.proxy.status_outcomes[status].attempts(), *count);
    }
    prop_assert!(summary.slow.workers_holding <= summary.proxy.workers.len() as u64);
    prop_assert!(!summary.verdict_reasons.is_empty());
    Ok(())
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

/// The explanation as a whole: no panic, and shares of late time that sum to 1.
fn assert_whole(records: &RunRecords) -> Result<(), TestCaseError> {
    let context = Context::of(records);
    let splits = all(&context);
    for (attempts, p99) in [(0, 0), (9, 0), (9, 20_000)] {
        let mut idle = summarise(records).idle;
        (idle.attempts, idle.latency_us.p99) = (attempts, p99);
        let (late, causes) = explain(&context, &splits, &idle, &SOUND);
        let sum: f64 = causes.iter().map(|cause| cause.share_of_late_time).sum();
        match causes.is_empty() {
            true => prop_assert_eq!(late.time_us, Micros(0)),
            false => prop_assert!((sum - 1.0).abs() < 1e-9, "{}", sum),
        }
        for cause in &causes {
            prop_assert!((0.0..=1.0).contains(&cause.share_of_late_time));
        }
        let leading: u64 = causes.iter().map(|cause| cause.fetches).sum();
        prop_assert!(leading <= late.fetches);
        if let Some(worst) = late.worst {
            prop_assert!(worst.cause_us <= worst.response_us);
        }
    }
    // Beside it, from the same records.
    if let Some(law) = summarise(records).law {
        prop_assert!(law.turns.is_finite() && law.downloads_per_worker.is_finite());
    }
    let truth = Logged::of(&ProxyKind::Mirror, &context.join).truth;
    prop_assert!(truth.called_ok + truth.unlogged <= truth.failed);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn time_in_steps_of_others_is_what_a_walk_finds(script in runs(Cpu::Always)) {
        let mut records = on_ports_of_their_own(Scene::of(&script).run.records);
        // All accept, from one queue, so that any worker might have accepted any fetch.
        let accept = |worker: u32| Accepted {
            worker,
            session: 900 + u64::from(worker),
            client_port: 30_000,
            at_ns: MonoNs(0),
        };
        records.accepted.extend((0..WORKERS).map(accept));
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
