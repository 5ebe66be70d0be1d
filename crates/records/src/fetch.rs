//! One fast request, told by its client.

use serde::{Deserialize, Serialize};

use crate::{Bytes, Micros, MonoNs, Outcome};

/// The part of a trial in which something happened.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
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

impl Phase {
    /// The word used in records, flags and progress.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Idle => "idle",
            Self::Load => "load",
            Self::Measure => "measure",
            Self::Drain => "drain",
            Self::Teardown => "teardown",
        }
    }
}

/// One fast request: a small object over a new connection, with a hard cap.
///
/// Phases are counted from `start_ns` and are absent when the fetch never reached them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Start to the end of the handshake.
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
