//! What a session may take: sizes and times, the same for all sessions of a proxy.

use std::path::PathBuf;
use std::time::Duration;

use records::{Bytes, ReadPolicy};

use super::GzipLevel;

/// Sizes and times of every session.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) read_policy: ReadPolicy,
    /// Unbuffered: bytes offered to one read. Buffered: bytes of a page.
    pub(crate) buffer: Bytes,
    /// Value of the Host header sent upstream.
    pub(crate) upstream_host: String,
    /// From accept to the complete request head (`client_header_timeout`).
    pub(crate) header_timeout: Duration,
    /// For the upstream handshake (`proxy_connect_timeout`).
    pub(crate) connect_timeout: Duration,
    /// Between two writes of the request, then for the whole head of the answer, then between two
    /// reads of its body (`proxy_send_timeout`, `proxy_read_timeout`).
    pub(crate) upstream_timeout: Duration,
    /// Between two writes to the client (`send_timeout`).
    pub(crate) send_timeout: Duration,
    /// Between two reads of what the client says once all is sent (`lingering_timeout`).
    pub(crate) linger_timeout: Duration,
    /// For all of what it says then (`lingering_time`).
    pub(crate) linger_time: Duration,
    /// `None`: answers pass unbuffered.
    pub(crate) buffering: Option<Buffering>,
    /// For clients that ask for it; `None`: nothing is compressed.
    pub(crate) gzip: Option<GzipLevel>,
}

/// Where buffered sessions keep what their clients do not take, and how much of it.
#[derive(Clone, Debug)]
pub(crate) struct Buffering {
    /// Directory of the files (`proxy_temp_path`).
    pub(crate) dir: PathBuf,
    /// Bytes that one session writes to its file at most (`proxy_max_temp_file_size`); zero: none.
    pub(crate) file_max: Bytes,
}
