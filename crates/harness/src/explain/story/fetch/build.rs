//! From a fetch laid on its worker's timeline to its story.

use std::time::Duration;

use records::{Cause, Fetch, Micros, MonoNs, SCHEMA_VERSION};

use super::{CausePart, Event, FetchStory, Hands, Happening, Logged, Stay, WorkerDid};
use crate::explain::ground::Ground;
use crate::explain::late::holding_step;
use crate::explain::life::{Handshake, Spell};
use crate::explain::shares::Shares;
use crate::explain::split::{FetchSplit, Piece};
use crate::explain::story::share;
use crate::explain::timeline::Doing;
use crate::summarise::join::Connection;

/// The story of `fetch`.
pub(super) fn story(
    ground: &Ground<'_>,
    fetch: &Fetch,
    connection: Option<&Connection<'_>>,
    split: &FetchSplit,
) -> FetchStory {
    let session = connection.and_then(|connection| connection.session);
    // Status 0: nothing was asked, and nothing is logged.
    let logged = session.filter(|session| session.status != 0).map(|session| Logged {
        status: session.status,
        rt_us: Micros(session.log.rt_ms.saturating_mul(1_000)),
        uct_us: session.log.uct_ms.map(|ms| Micros(ms.saturating_mul(1_000))),
    });
    let pieces = split.pieces.iter().filter(|piece| !piece.window.length().is_zero());
    FetchStory {
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
        events: events(ground, fetch, connection),
        stays: pieces.map(|piece| stay(ground, fetch.intended_ns, piece)).collect(),
        causes: parts(&split.shares),
    }
}

fn events(ground: &Ground<'_>, fetch: &Fetch, connection: Option<&Connection<'_>>) -> Vec<Event> {
    let session = connection.and_then(|connection| connection.session);
    let answered = session.and_then(|session| ground.answer(session));
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

fn stay(ground: &Ground<'_>, wanted: MonoNs, piece: &Piece) -> Stay {
    let length = piece.window.length();
    let worker_did = match piece.doing {
        Some(Doing::Hold(at)) => hold(ground, wanted, at, length),
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
        hands: piece.spell.into(),
        worker_did,
        causes: parts(&piece.shares),
    }
}

fn hold(ground: &Ground<'_>, wanted: MonoNs, at: usize, waited: Duration) -> Option<WorkerDid> {
    let began = ground.records.holds.get(at)?.start_ns;
    let (later, sooner) = (after(wanted, began), after(began, wanted));
    let began_ns = i64::try_from(later).ok()?.saturating_sub_unsigned(sooner);
    Some(WorkerDid::Hold { began_ns, step: holding_step(ground, at, waited)? })
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

impl From<Spell> for Hands {
    fn from(spell: Spell) -> Self {
        match spell {
            Spell::Unsent => Self::Unsent,
            Spell::Handshake(Handshake::Done | Handshake::Pending) => Self::Handshake,
            Spell::Queued => Self::Queued,
            Spell::Asking => Self::Asking,
            Spell::AwaitingHead => Self::AwaitingHead,
            Spell::AwaitingOrigin => Self::AwaitingOrigin,
            Spell::Body => Self::Body,
            Spell::Unknown => Self::Unknown,
            Spell::Closed => Self::Closed,
        }
    }
}
