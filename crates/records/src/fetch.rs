//! What clients tell: one fast request and how it ended; the slow transfers, and what the harness may order
//! their client on its standard input, one JSON object a line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumCount, EnumString, IntoStaticStr, VariantArray};

use crate::units::every;
use crate::{Bytes, Micros, MonoNs};

/// The part of a trial in which something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[derive(Default, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Phase {
    /// Processes are started.
    Setup,
    /// Fetches only: the machine's own baseline.
    Idle,
    /// Downloads start; waits until every one moves.
    Load,
    /// Fetches under load: what a record is about that does not say.
    #[default]
    Measure,
    /// The last fetches end or hit their cap.
    Drain,
    /// Children are stopped and reaped.
    Teardown,
}

/// One fast request: a small object, with a hard cap.
///
/// Phases are counted from `start_ns` and are absent when the fetch never reached them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fetch {
    /// Counts up from 0 within one fast client.
    pub fetch: u64,
    /// `idle` or `measure`.
    pub phase: Phase,
    /// When the arrival process wanted it to start.
    pub intended_ns: MonoNs,
    /// When it did start, just before `connect`.
    pub start_ns: MonoNs,
    /// The client's port: the key that joins a fetch to the proxy's [`crate::Session`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub client_port: Option<u16>,
    /// Start to the end of the handshake; zero over a connection that was open already.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connect_us: Option<Micros>,
    /// Start to the first byte of the answer, read by the client: before its head is whole.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_byte_us: Option<Micros>,
    /// Start to the end, whatever the outcome; a timeout counts at its true age.
    pub total_us: Micros,
    /// Intended start to the end: what a client that keeps its schedule feels.
    pub response_us: Micros,
    /// Body bytes received.
    pub bytes: Bytes,
    /// Status of the answer, if a head arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<u16>,
    /// How it ended.
    pub outcome: Outcome,
}

impl Fetch {
    /// How late the client itself was: real start after intended start.
    pub const fn lag_us(&self) -> Micros {
        self.start_ns.micros_since(self.intended_ns)
    }
}

/// Fetches of a closed loop that ended in one way within about a second and have no record of their own:
/// such a loop makes as many as the server answers, and a record for each would be dear.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchTotals {
    /// `idle` or `measure`.
    pub phase: Phase,
    /// From when on they ended.
    pub from_ns: MonoNs,
    /// Until when.
    pub until_ns: MonoNs,
    /// How.
    pub outcome: Outcome,
    /// How many took so long, start to end, at most 0.1 % more than it says; ascending. A closed loop's
    /// fetch starts when it was meant to.
    pub times_us: Vec<(Micros, u64)>,
}

impl FetchTotals {
    /// How many fetches they are.
    pub fn fetches(&self) -> u64 {
        self.times_us.iter().fold(0, |sum, (_, count)| count.saturating_add(sum))
    }
}

/// Exactly one for each attempt. A cap that was hit says in which part of the fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[derive(Default, Display, EnumCount, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Outcome {
    /// Status 200 and every byte of the body within the cap.
    #[default]
    Ok,
    /// The cap was hit before the handshake was complete.
    TimeoutConnect,
    /// The cap was hit after the handshake, before the first byte of the answer.
    TimeoutNoByte,
    /// The cap was hit inside the answer.
    TimeoutPartial,
    /// The connection was refused.
    Refused,
    /// The peer reset the connection.
    Reset,
    /// The peer closed before the answer was complete.
    ClosedEarly,
    /// An answer that is not 200, or not HTTP.
    BadStatus,
    /// This host could not try: no descriptor, no port, no memory. No failure of the proxy.
    LocalError,
}

impl Outcome {
    /// Every outcome, in the order in which reports list them.
    pub const ALL: [Self; Self::COUNT] = every(Self::VARIANTS);

    /// Whether the client gave up at its cap, so that the time is a lower bound.
    pub const fn is_censored(self) -> bool {
        matches!(self, Self::TimeoutConnect | Self::TimeoutNoByte | Self::TimeoutPartial)
    }

    /// Whether it is a failure of what was asked. [`Self::LocalError`] is none: nothing was asked.
    pub const fn is_failed(self) -> bool {
        !matches!(self, Self::Ok | Self::LocalError)
    }
}

/// How many attempts ended in each [`Outcome`]. In JSON every outcome is named, also at zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "BTreeMap<Outcome, u64>")]
pub struct OutcomeCounts(BTreeMap<Outcome, u64>);

impl OutcomeCounts {
    /// Counts one attempt.
    pub fn add(&mut self, outcome: Outcome) {
        self.add_many(outcome, 1);
    }

    /// Counts so many.
    pub fn add_many(&mut self, outcome: Outcome, attempts: u64) {
        let count = self.0.entry(outcome).or_default();
        *count = count.saturating_add(attempts);
    }

    /// Attempts that ended in `outcome`.
    pub fn count(&self, outcome: Outcome) -> u64 {
        self.0.get(&outcome).copied().unwrap_or(0)
    }

    /// All attempts.
    pub fn attempts(&self) -> u64 {
        self.0.values().fold(0, |sum, count| count.saturating_add(sum))
    }

    /// Attempts that came to nothing on their own host ([`Outcome::LocalError`]): no doing of the
    /// proxy.
    pub fn untried(&self) -> u64 {
        self.count(Outcome::LocalError)
    }

    /// All attempts but those.
    pub fn tried(&self) -> u64 {
        self.attempts().saturating_sub(self.untried())
    }

    /// Attempts that failed ([`Outcome::is_failed`]): what `failed` means wherever it stands.
    pub fn failed(&self) -> u64 {
        self.tried().saturating_sub(self.count(Outcome::Ok))
    }

    /// The same as a share of those that could be tried; `None` when there was none.
    pub fn failed_share(&self) -> Option<f64> {
        (self.tried() > 0).then(|| self.failed() as f64 / self.tried() as f64)
    }
}

impl From<OutcomeCounts> for BTreeMap<Outcome, u64> {
    fn from(counts: OutcomeCounts) -> Self {
        Outcome::ALL.into_iter().map(|outcome| (outcome, counts.count(outcome))).collect()
    }
}

impl FromIterator<Outcome> for OutcomeCounts {
    fn from_iter<I: IntoIterator<Item = Outcome>>(outcomes: I) -> Self {
        let mut counts = Self::default();
        outcomes.into_iter().for_each(|outcome| counts.add(outcome));
        counts
    }
}

/// A download's connection is open; its request may not have been sent yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dialed {
    /// Which of the parallel downloads, from 0.
    pub slot: u32,
    /// The client's port: joins it to the proxy's [`crate::Accepted`].
    pub client_port: u16,
    /// When the handshake was complete.
    pub at_ns: MonoNs,
}

/// What every slot received in one interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DownloadInterval {
    /// Start of the interval.
    pub start_ns: MonoNs,
    /// End of the interval.
    pub end_ns: MonoNs,
    /// Body bytes by slot; of requests to a path of the user's own also what was sent, and the heads
    /// of answers.
    pub bytes: Vec<Bytes>,
}

/// One whole download, from dial to end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Download {
    /// Which of the parallel downloads, from 0.
    pub slot: u32,
    /// How many this slot had before, from 0.
    pub ordinal: u32,
    /// The client's port, once it had one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub client_port: Option<u16>,
    /// When the request was sent, or the dial failed.
    pub start_ns: MonoNs,
    /// Start to the first byte of the answer, read by the client: before its head is whole.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_byte_us: Option<Micros>,
    /// Start to the end.
    pub total_us: Micros,
    /// Body bytes received, counted as in [`DownloadInterval`].
    pub bytes: Bytes,
    /// How it ended.
    pub end: DownloadEnd,
}

/// How a download ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DownloadEnd {
    /// Every byte arrived.
    #[default]
    Completed,
    /// We stopped it: the trial was over.
    Stopped,
    /// We hung up before the request: another worker was wanted.
    Replaced,
    /// The connection was refused or could not be made.
    Refused,
    /// The peer reset the connection.
    Reset,
    /// The peer closed before the body was complete.
    ClosedEarly,
    /// An answer whose status is not 200 (2xx where the path is the user's own), that is not HTTP, or of another length than was asked for.
    BadStatus,
    /// It could not be dialled: this host had no descriptor, port or memory left for it.
    LocalError,
}

/// When a download sends its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requests {
    /// On [`SlowOrder::Go`]: until then its worker is idle and accepts what comes.
    Held,
    /// As soon as it is connected.
    AtOnce,
}

/// An order to the slow client: how downloads get to the workers that should hold them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum SlowOrder {
    /// Hang up the connection from this port and dial that slot again from a new one.
    Redial {
        /// The client's port, as told in [`crate::Dialed`].
        client_port: u16,
    },
    /// Send the request of every connection that is open and waits for this.
    Go,
}
