//! The slow transfers, told by their client.

use serde::{Deserialize, Serialize};

use crate::{Bytes, Micros, MonoNs};

/// A download's connection is open; its request may not have been sent yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dialed {
    /// Which of the parallel downloads, from 0.
    pub slot: u32,
    /// The client's port: joins it to the proxy's [`crate::Accepted`].
    pub client_port: u16,
    /// When the handshake was complete.
    pub at_ns: MonoNs,
}

/// What every slot received in one interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DownloadInterval {
    /// Start of the interval.
    pub start_ns: MonoNs,
    /// End of the interval.
    pub end_ns: MonoNs,
    /// Body bytes by slot.
    pub bytes: Vec<Bytes>,
}

/// One whole download, from dial to end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Body bytes received.
    pub bytes: Bytes,
    /// How it ended.
    pub end: DownloadEnd,
}

/// How a download ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DownloadEnd {
    /// Every byte arrived.
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
    /// An answer that is not 200, not HTTP, or of another length than was asked for.
    BadStatus,
    /// It could not be dialled: this host had no descriptor, port or memory left for it.
    LocalError,
}
