//! One fetch from the moment it was wanted to the end of its session, both sides on one clock: events,
//! and between them what its worker did, with long lists folded.
//!
//! Invariant: no time is lost in folding: stays follow each other without a gap and cover the fetch's
//! time; the causes of each sum to its length, and all of them to the fetch's time.

use std::time::Duration;

use records::{Cause, Fetch, Micros, MonoNs, Packet, Phase, SCHEMA_VERSION, Session, SessionEnd};
use serde::Serialize;

use super::Held;
use super::wire::{Wire, ladder};
use crate::analysis::Analysis;
use crate::explain::timeline::Doing;
use crate::explain::{Context, FetchSplit, Hands, Piece, Shares};
use crate::window::share;

/// Between two events at most so many stays stand one by one.
const MOST: usize = 12;
/// Of more, so many of the longest do; what lies between them is folded.
const LONGEST: usize = 5;
/// Short steps and polls of less than one in so many parts of the fetch's time are not named: their
/// time counts to what was before them.
const TRIFLE: u32 = 1_000;

/// The life of one fetch: the document of `turnstile explain --fetch N --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FetchReport {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// What its client told.
    #[serde(flatten)]
    pub fetch: Fetch,
    /// The worker that accepted it; absent: none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<u32>,
    /// The proxy's side, once that had ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Session>,
    /// What happened, in order of time; the proxy's side may go on after the fetch has ended.
    pub timeline: Vec<Moment>,
    /// Its time by cause, the largest part first.
    pub causes: Vec<CausePart>,
}

/// Something that happened, and where time went until the next.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moment {
    /// When.
    pub at_ns: MonoNs,
    /// What.
    pub what: Happening,
    /// In order of time.
    pub then: Vec<Stay>,
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
    /// The client was done with it: see [`Fetch::outcome`].
    Ended,
    /// The worker closed its session.
    Closed(SessionEnd),
    /// Packets, where they were kept.
    Wire(Wire),
}

/// A part of a fetch's time in which its worker did one thing, or several things in a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stay {
    /// Its start.
    pub start_ns: MonoNs,
    /// Its end.
    pub end_ns: MonoNs,
    /// In whose hands the fetch was when it began.
    pub hands: Hands,
    /// Long steps in it, by whose they were, the longest wait first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<Held>,
    /// Loop turns with short steps in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<TurnGroup>,
    /// Long polls in it.
    pub polls: u64,
    /// Times in it in which what a worker did is unknown, or no matter.
    pub silent: u64,
    /// The time by cause, the largest part first.
    pub causes: Vec<CausePart>,
}

/// Loop turns with short steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TurnGroup {
    /// About how many.
    pub turns: u64,
    /// Length of one, without polls, in the mean.
    pub mean_us: Micros,
    /// Time in polls between them.
    pub poll_us: Micros,
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

impl FetchReport {
    /// The report on fetch `number` of `phase`.
    ///
    /// # Errors
    /// There is no such fetch; the message says which there are.
    pub fn of(analysis: &Analysis<'_>, phase: Phase, number: u64) -> Result<Self, String> {
        let fetches = analysis.records.fetches.iter().zip(analysis.splits());
        let mut of_phase = fetches.filter(|(fetch, _)| fetch.phase == phase);
        let numbers = of_phase.clone().map(|(fetch, _)| fetch.fetch);
        let found = of_phase.find(|(fetch, _)| fetch.fetch == number);
        found.map(|(fetch, split)| report(&analysis.context, fetch, split)).ok_or_else(|| {
            let known = match numbers.clone().min().zip(numbers.max()) {
                Some((first, last)) => format!("has fetches {first} to {last}"),
                None => "has no fetch".to_owned(),
            };
            format!("fetch {number} is not in this run: its {} phase {known}", phase.name())
        })
    }

    /// What the access log says of it; absent: nothing.
    pub fn logged(&self) -> Option<&Session> {
        self.session.as_ref().filter(|session| session.is_logged())
    }

    /// Puts the fetch's packets between what else happened; where time went stands behind the last of
    /// either. `end`: of the capture.
    pub fn lay_packets(&mut self, packets: &[Packet], end: MonoNs) {
        for (at_ns, wire) in ladder(packets, end) {
            let what = Happening::Wire(wire);
            let place = self.timeline.partition_point(|it| (it.at_ns, it.what) <= (at_ns, what));
            let before = place.checked_sub(1).and_then(|before| self.timeline.get_mut(before));
            let then = before.map_or_else(Vec::new, |Moment { then, .. }| {
                then.split_off(then.partition_point(|stay| stay.start_ns < at_ns))
            });
            self.timeline.insert(place, Moment { at_ns, what, then });
        }
    }
}

fn report(context: &Context<'_>, fetch: &Fetch, split: &FetchSplit) -> FetchReport {
    let session = context.join.fetch(split.index).and_then(|connection| connection.session);
    let trifle = fetch.response_us.as_duration() / TRIFLE;
    let pieces: Vec<&Piece> =
        split.pieces.iter().filter(|piece| !piece.window.length().is_zero()).collect();
    let mut pieces = pieces.as_slice();
    let events = events(context, fetch, split.index);
    let nexts = events.iter().skip(1).map(|(at, _)| *at).chain([MonoNs(u64::MAX)]);
    let moment = |(&(at_ns, what), next): (&(MonoNs, Happening), MonoNs)| {
        let count = pieces.partition_point(|piece| piece.window.start < next);
        let (between, later) = pieces.split_at(count);
        pieces = later;
        Moment { at_ns, what, then: fold(context, between, trifle) }
    };
    FetchReport {
        schema_version: SCHEMA_VERSION,
        fetch: fetch.clone(),
        worker: split.worker,
        session: session.cloned(),
        timeline: events.iter().zip(nexts).map(moment).collect(),
        causes: CausePart::all(&split.shares),
    }
}

fn events(context: &Context<'_>, fetch: &Fetch, index: usize) -> Vec<(MonoNs, Happening)> {
    let connection = context.join.fetch(index);
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
    // A worker may have accepted on a connection that was open before the fetch was wanted.
    let mut events: Vec<_> = known.map(|(at, what)| (at.max(fetch.intended_ns), what)).collect();
    events.sort_unstable();
    events
}

/// First each piece with the trifles behind it, then neighbours of one kind, then what lies between the
/// longest few.
fn fold(context: &Context<'_>, pieces: &[&Piece], trifle: Duration) -> Vec<Stay> {
    let is_trifle = |piece: &Piece| {
        piece.window.length() < trifle && !matches!(piece.doing, Some(Doing::Hold(_)))
    };
    let told: Vec<&[&Piece]> = pieces.chunk_by(|_, next| is_trifle(next)).collect();
    let is_alike = |one: &&[&Piece], next: &&[&Piece]| {
        one.first().zip(next.first()).is_some_and(|(one, next)| is_alike(context, one, next))
    };
    let alike: Vec<&[&[&Piece]]> = told.chunk_by(is_alike).collect();
    if alike.len() <= MOST {
        return alike.into_iter().filter_map(|told| Stay::of(context, told)).collect();
    }
    let length = |told: &[&[&Piece]]| -> Duration {
        told.iter().copied().flatten().map(|piece| piece.window.length()).sum()
    };
    let mut lengths: Vec<Duration> = alike.iter().map(|told| length(told)).collect();
    lengths.sort_unstable_by_key(|&length| std::cmp::Reverse(length));
    // Shorter than the longest few, and no longer than the next: of equals all are folded.
    let most = lengths.get(LONGEST).copied().unwrap_or_default();
    let runs = alike.chunk_by(|one, next| length(one) <= most && length(next) <= most);
    runs.filter_map(|run| Stay::of(context, &run.concat())).collect()
}

/// Whether the worker went on with the same thing.
fn is_alike(context: &Context<'_>, one: &Piece, next: &Piece) -> bool {
    match (one.doing, next.doing) {
        (Some(Doing::Hold(one)), Some(Doing::Hold(next))) => {
            context.holder(one) == context.holder(next)
        }
        (Some(Doing::Turning { .. }), Some(Doing::Turning { .. }))
        | (Some(Doing::Polling), Some(Doing::Polling)) => true,
        (None, None) => one.hands == next.hands,
        _ => false,
    }
}

impl Stay {
    /// Several in a row, each with the trifles behind it, of which only the time is told.
    fn of(context: &Context<'_>, told: &[&[&Piece]]) -> Option<Self> {
        let all = || told.iter().copied().flatten();
        let (first, last) = (all().next()?, all().next_back()?);
        let (mut waits, mut turns, mut polls, mut silent) = (Vec::new(), 0_u64, 0, 0);
        let (mut busy, mut polling) = (Duration::ZERO, Duration::ZERO);
        for piece in told.iter().filter_map(|told| told.first()) {
            let length = piece.window.length();
            match piece.doing {
                Some(Doing::Hold(at)) => waits.push((0, at, length)),
                Some(Doing::Turning { polling: part, turn }) => {
                    let worked = length.mul_f64((1.0 - part).clamp(0.0, 1.0)).min(length);
                    let about = share(worked, turn).round().clamp(1.0, 1e15);
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "clamped"
                    )]
                    let about = about as u64;
                    turns = turns.saturating_add(about);
                    busy += worked;
                    polling += length - worked;
                }
                Some(Doing::Polling) => polls += 1,
                None => silent += 1,
            }
        }
        let (mean_us, poll_us) = (busy.div_f64(turns.max(1) as f64).into(), polling.into());
        let mut shares = Shares::default();
        all().for_each(|piece| shares.merge(&piece.shares));
        Some(Self {
            start_ns: first.window.start,
            end_ns: last.window.end,
            hands: first.hands,
            holds: Held::all(context, waits),
            turns: (turns > 0).then_some(TurnGroup { turns, mean_us, poll_us }),
            polls,
            silent,
            causes: CausePart::all(&shares),
        })
    }
}

impl CausePart {
    /// The causes with a part in `shares`, the largest first.
    fn all(shares: &Shares) -> Vec<Self> {
        let whole = shares.total();
        let part = |cause| {
            let time = shares.of(cause);
            let time_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            Self { cause, time_ns, share: share(time, whole) }
        };
        let mut parts: Vec<Self> =
            Cause::ALL.into_iter().map(part).filter(|part| part.time_ns > 0).collect();
        parts.sort_by_key(|part| (std::cmp::Reverse(part.time_ns), part.cause));
        parts
    }

    /// Its part in whole us.
    pub const fn time_us(&self) -> Micros {
        Micros(self.time_ns / 1_000)
    }
}

#[cfg(test)]
mod tests;
