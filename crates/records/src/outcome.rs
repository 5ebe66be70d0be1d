//! How a fetch ended, as its client saw it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Exactly one for each attempt. A cap that was hit says in which part of the fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Status 200 and every byte of the body within the cap.
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
    pub const ALL: [Self; 9] = [
        Self::Ok,
        Self::TimeoutConnect,
        Self::TimeoutNoByte,
        Self::TimeoutPartial,
        Self::Refused,
        Self::Reset,
        Self::ClosedEarly,
        Self::BadStatus,
        Self::LocalError,
    ];

    /// The word used in records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::TimeoutConnect => "timeout_connect",
            Self::TimeoutNoByte => "timeout_no_byte",
            Self::TimeoutPartial => "timeout_partial",
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::ClosedEarly => "closed_early",
            Self::BadStatus => "bad_status",
            Self::LocalError => "local_error",
        }
    }

    /// Whether the client gave up at its cap, so that the time is a lower bound.
    pub const fn is_censored(self) -> bool {
        matches!(self, Self::TimeoutConnect | Self::TimeoutNoByte | Self::TimeoutPartial)
    }

    /// Whether it is a failure of what was asked. [`Self::LocalError`] is none: nothing was asked.
    pub const fn is_failed(self) -> bool {
        !matches!(self, Self::Ok | Self::LocalError)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How many attempts ended in each [`Outcome`]. In JSON every outcome is named, also at zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<Outcome, u64>", into = "BTreeMap<Outcome, u64>")]
pub struct OutcomeCounts(BTreeMap<Outcome, u64>);

impl OutcomeCounts {
    /// Counts one attempt.
    pub fn add(&mut self, outcome: Outcome) {
        let count = self.0.entry(outcome).or_default();
        *count = count.saturating_add(1);
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

impl From<BTreeMap<Outcome, u64>> for OutcomeCounts {
    fn from(counts: BTreeMap<Outcome, u64>) -> Self {
        Self(counts)
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
