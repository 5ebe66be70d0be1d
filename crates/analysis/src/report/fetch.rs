//! One fetch from the moment it was wanted to the end of its session, both sides on one clock.

use records::{Bytes, Cause, HoldingStep, Micros, MonoNs, Outcome, Phase, SessionEnd};
use serde::Serialize;

use crate::explain::Hands;

/// The life of one fetch: the document of `turnstile explain --fetch N --json`.
///
/// Its clock starts when the fetch was wanted (its intended start). Invariant: the stays follow
/// each other without a gap and cover its time; the causes sum to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FetchReport {
    /// [`records::SCHEMA_VERSION`] of the writer.
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

impl CausePart {
    /// Parts of the sum of `times`, the largest first; those without any are left out.
    pub(crate) fn all_of(times: impl IntoIterator<Item = (Cause, u64)>) -> Vec<Self> {
        let times: Vec<_> = times.into_iter().filter(|(_, time_ns)| *time_ns > 0).collect();
        let whole = times.iter().fold(0_u64, |sum, (_, time)| sum.saturating_add(*time));
        let mut parts: Vec<Self> = times
            .into_iter()
            .map(|(cause, time_ns)| Self { cause, time_ns, share: time_ns as f64 / whole as f64 })
            .collect();
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

#[cfg(test)]
mod tests;
