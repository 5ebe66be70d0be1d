//! The slow transfers, told by their client, and what the harness may order it on its standard input,
//! one JSON object a line.

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
