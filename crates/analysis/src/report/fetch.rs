//! One fetch from the moment it was wanted to the end of its session, both sides on one clock.

use std::collections::BTreeMap;
use std::time::Duration;

use records::{
    Bytes, Cause, Fetch, HoldingStep, Micros, MonoNs, Outcome, Phase, SCHEMA_VERSION, SessionEnd,
};
use serde::Serialize;

use super::wire::Wire;
use crate::analysis::Analysis;
use crate::explain::late::holding_step;
use crate::explain::timeline::Doing;
use crate::explain::{Context, FetchSplit, Hands, Piece, Shares};
use crate::figures::log::logged_time;
use crate::join::Connection;
use crate::window::share;

/// The life of one fetch: the document of `turnstile explain --fetch N --json`.
///
/// Its clock starts when the fetch was wanted (its intended start). Invariant: the stays follow
/// each other without a gap and cover its time; the causes sum to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FetchReport {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Its number.
    pub fetch: u64,
    /// `idle` or `measure`.
    pub phase: Phase,
    /// How it ended, as its client saw it.
    pub outcome: Outcome,
    /// Status of the answer, if a head arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Body bytes received.
    pub bytes: Bytes,
    /// Intended start to end.
    pub response_us: Micros,
    /// Real start to end.
    pub total_us: Micros,
    /// The client's port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_port: Option<u16>,
    /// The worker that accepted it; absent: none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<u32>,
    /// What the access log says of it; absent: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logged: Option<Logged>,
    /// When it was wanted: the zero of its clock.
    #[serde(skip)]
    pub wanted_ns: MonoNs,
    /// What happened, in order of time; the proxy's side may go on after the fetch has ended.
    pub events: Vec<Event>,
    /// Where its time went, in order of time.
    pub stays: Vec<Stay>,
    /// Its time by cause, the largest part first.
    pub causes: Vec<CausePart>,
}

/// A log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Logged {
    /// `$status`.
    pub status: u16,
    /// `$request_time`.
    pub rt_us: Micros,
    /// `$upstream_connect_time`; absent: logged as `-`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uct_us: Option<Micros>,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// When, after the fetch was wanted.
    pub at_ns: u64,
    /// What.
    pub what: Happening,
}

/// What can happen, in the usual order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Happening {
    /// The client's schedule wanted it to start.
    Wanted,
    /// The client started it.
    Started,
    /// The client had its connection.
    Connected,
    /// The worker accepted it.
    Accepted,
    /// The worker had the whole request.
    RequestWhole,
    /// The worker saw its connection to the origin stand.
    UpstreamConnected,
    /// The origin had the answer's head to send.
    OriginAnswered,
    /// The worker had the answer's head.
    Head,
    /// The client had the answer's head.
    FirstByte,
    /// The client was done with it: see [`FetchReport::outcome`].
    Ended,
    /// The worker closed its session.
    Closed(SessionEnd),
    /// Packets, where they were kept.
    Wire(Wire),
}

/// A part of a fetch's time in which neither its own state nor what its worker did changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stay {
    /// Its start, after the fetch was wanted.
    pub start_ns: u64,
    /// Its length.
    pub length_ns: u64,
    /// In whose hands the fetch was.
    pub hands: Hands,
    /// What its worker did meanwhile; absent: unknown, or no matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_did: Option<WorkerDid>,
    /// The time by cause, the largest part first.
    pub causes: Vec<CausePart>,
}

/// What a worker did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerDid {
    /// One long step, or a part of it.
    Hold {
        /// When it began, after the fetch was wanted; below zero: before that.
        began_ns: i64,
        /// The step, and how long the fetch waited in this part of it.
        #[serde(flatten)]
        step: HoldingStep,
    },
    /// Loop turns with short steps.
    Turns {
        /// About how many.
        turns: u64,
        /// Time of them outside of polls.
        busy_ns: u64,
    },
    /// One long poll.
    Poll,
}

/// One cause's part of a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CausePart {
    /// Which cause.
    pub cause: Cause,
    /// Its part.
    pub time_ns: u64,
    /// The same as a share, 0 to 1.
    pub share: f64,
}

/// A fetch that is not in the run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fetch {fetch} is not in this run: {}", known_words(*.phase, *.known))]
pub struct NoSuchFetch {
    /// What was asked for.
    pub fetch: u64,
    /// The phase that was asked for.
    pub phase: Phase,
    /// The least and largest number of that phase; absent: it has no fetch.
    pub known: Option<(u64, u64)>,
}

fn known_words(phase: Phase, known: Option<(u64, u64)>) -> String {
    let phase = phase.name();
    match known {
        Some((first, last)) => format!("its {phase} phase has fetches {first} to {last}"),
        None => format!("its {phase} phase has no fetch"),
    }
}

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
        wanted_ns: fetch.intended_ns,
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

impl CausePart {
    /// Parts of the sum of `times`, the largest first; those without any are left out.
    pub(crate) fn all_of(times: impl IntoIterator<Item = (Cause, u64)>) -> Vec<Self> {
        let mut of_cause: BTreeMap<Cause, u64> = BTreeMap::new();
        for (cause, time_ns) in times {
            let sum = of_cause.entry(cause).or_default();
            *sum = sum.saturating_add(time_ns);
        }
        let whole = of_cause.values().fold(0_u64, |sum, time| sum.saturating_add(*time)) as f64;
        let part = |(cause, time_ns)| Self { cause, time_ns, share: time_ns as f64 / whole };
        let times = of_cause.into_iter().filter(|(_, time_ns)| *time_ns > 0);
        let mut parts: Vec<Self> = times.map(part).collect();
        parts.sort_by_key(|part| (std::cmp::Reverse(part.time_ns), part.cause));
        parts
    }

    /// Its part in whole us.
    pub const fn time_us(&self) -> Micros {
        MonoNs(self.time_ns).micros_since(MonoNs(0))
    }
}

impl Event {
    /// When, in whole us after the fetch was wanted.
    pub const fn at_us(&self) -> Micros {
        MonoNs(self.at_ns).micros_since(MonoNs(0))
    }
}
