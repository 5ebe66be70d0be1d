//! From a fetch laid on its worker's timeline to its report.

use std::time::Duration;

use records::{Cause, Fetch, Micros, MonoNs, Phase, SCHEMA_VERSION};

use super::fetch::{
    CausePart, Event, FetchReport, Happening, Logged, NoSuchFetch, Stay, WorkerDid,
};
use crate::analysis::Analysis;
use crate::explain::late::holding_step;
use crate::explain::timeline::Doing;
use crate::explain::{Context, FetchSplit, Piece, Shares};
use crate::figures::log::logged_time;
use crate::join::Connection;
use crate::window::share;

impl FetchReport {
    /// The report on fetch `number` of `phase`.
    ///
    /// # Errors
    /// There is no such fetch.
    pub fn of(analysis: &Analysis<'_>, phase: Phase, number: u64) -> Result<Self, NoSuchFetch> {
        let fetches = analysis.records.fetches.iter().zip(analysis.splits());
        let of_phase = fetches.filter(|(fetch, _)| fetch.phase == phase);
        let numbers = of_phase.clone().map(|(fetch, _)| fetch.fetch);
        let known = numbers.clone().min().zip(numbers.max());
        let mut of_phase = of_phase;
        match of_phase.find(|(fetch, _)| fetch.fetch == number) {
            Some((fetch, split)) => Ok(report(&analysis.context, fetch, split)),
            None => Err(NoSuchFetch { fetch: number, phase, known }),
        }
    }
}

/// The report on `fetch`.
fn report(context: &Context<'_>, fetch: &Fetch, split: &FetchSplit) -> FetchReport {
    let connection = context.join.fetch(split.index);
    let logged = connection.and_then(Connection::logged).map(|session| Logged {
        status: session.status,
        rt_us: logged_time(session),
        uct_us: session.log.uct_ms.map(|ms| Micros(ms.saturating_mul(1_000))),
    });
    let pieces = split.pieces.iter().filter(|piece| !piece.window.length().is_zero());
    FetchReport {
        schema_version: SCHEMA_VERSION,
        fetch: fetch.fetch,
        phase: fetch.phase,
        outcome: fetch.outcome,
        status: fetch.status,
        bytes: fetch.bytes,
        response_us: fetch.response_us,
        total_us: fetch.total_us,
        client_port: fetch.client_port,
        worker: split.worker,
        logged,
        events: events(context, fetch, connection),
        stays: pieces.map(|piece| stay(context, fetch.intended_ns, piece)).collect(),
        causes: parts(&split.shares),
    }
}

fn events(context: &Context<'_>, fetch: &Fetch, connection: Option<&Connection<'_>>) -> Vec<Event> {
    let session = connection.and_then(|connection| connection.session);
    let answered = session.and_then(|session| context.answer(session));
    let after_start = |time: Option<Micros>| time.map(|time| fetch.start_ns + time.as_duration());
    let end = fetch.intended_ns + fetch.response_us.as_duration();
    let happened = [
        (Some(fetch.intended_ns), Happening::Wanted),
        (Some(fetch.start_ns), Happening::Started),
        (after_start(fetch.connect_us), Happening::Connected),
        (connection.map(|connection| connection.accepted_ns), Happening::Accepted),
        (session.and_then(|session| session.request_ns), Happening::RequestWhole),
        (session.and_then(|session| session.connected_ns), Happening::UpstreamConnected),
        (answered.and_then(|answered| answered.head_ns), Happening::OriginAnswered),
        (session.and_then(|session| session.head_ns), Happening::Head),
        (after_start(fetch.first_byte_us), Happening::FirstByte),
        (Some(end), Happening::Ended),
    ];
    let closed = session.map(|session| (session.closed_ns, Happening::Closed(session.end)));
    let known = happened.into_iter().filter_map(|(at, what)| Some((at?, what))).chain(closed);
    let mut events: Vec<Event> =
        known.map(|(at, what)| Event { at_ns: after(fetch.intended_ns, at), what }).collect();
    events.sort_by_key(|event| (event.at_ns, event.what));
    events
}

fn stay(context: &Context<'_>, wanted: MonoNs, piece: &Piece) -> Stay {
    let length = piece.window.length();
    let worker_did = match piece.doing {
        Some(Doing::Hold(at)) => hold(context, wanted, at, length),
        Some(Doing::Turning { polling, turn }) => {
            let busy = length.mul_f64((1.0 - polling).clamp(0.0, 1.0));
            let turns = share(busy, turn).round().clamp(1.0, 1e15);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
            Some(WorkerDid::Turns { turns: turns as u64, busy_ns: ns(busy) })
        }
        Some(Doing::Polling) => Some(WorkerDid::Poll),
        None => None,
    };
    Stay {
        start_ns: after(wanted, piece.window.start),
        length_ns: after(piece.window.start, piece.window.end),
        hands: piece.hands,
        worker_did,
        causes: parts(&piece.shares),
    }
}

fn hold(context: &Context<'_>, wanted: MonoNs, at: usize, waited: Duration) -> Option<WorkerDid> {
    let began = context.records.holds.get(at)?.start_ns;
    let (later, sooner) = (after(wanted, began), after(began, wanted));
    let began_ns = i64::try_from(later).ok()?.saturating_sub_unsigned(sooner);
    Some(WorkerDid::Hold { began_ns, step: holding_step(context, at, waited)? })
}

fn after(start: MonoNs, at: MonoNs) -> u64 {
    at.0.saturating_sub(start.0)
}

/// The causes with a part in `shares`, the largest first.
fn parts(shares: &Shares) -> Vec<CausePart> {
    CausePart::all_of(Cause::ALL.map(|cause| (cause, ns(shares.of(cause)))))
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
