//! What a session may take: sizes and times, the same for all sessions of a proxy.

use std::time::Duration;

use records::{Bytes, ReadPolicy};

/// Sizes and times of every session.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) read_policy: ReadPolicy,
    /// Relay buffer: bytes offered to one read.
    pub(crate) buffer: Bytes,
    /// Value of the Host header sent upstream.
    pub(crate) upstream_host: String,
    /// From accept to the complete request head (`client_header_timeout`).
    pub(crate) header_timeout: Duration,
    /// For the upstream handshake (`proxy_connect_timeout`).
    pub(crate) connect_timeout: Duration,
    /// Between two reads from the upstream or writes to it (`proxy_read_timeout`).
    pub(crate) upstream_timeout: Duration,
    /// Between two writes to the client (`send_timeout`).
    pub(crate) send_timeout: Duration,
    /// For the client to stop talking once all is sent (`lingering_timeout`).
    pub(crate) linger_timeout: Duration,
}
