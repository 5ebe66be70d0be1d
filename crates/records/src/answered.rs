//! One request of the upstream, told by the upstream.

use serde::{Deserialize, Serialize};

use crate::MonoNs;

/// Requests of which the origin has no [`Answered`]: who reads its records was too slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswersLost {
    /// How many.
    pub requests: u64,
}

/// The origin had a request, and what became of it.
///
/// Told by the origin, so it costs no worker anything, and it is there for any proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The port that asked: [`crate::Session::upstream_port`] of the session that did.
    pub upstream_port: u16,
    /// When the request's head had been read.
    pub request_ns: MonoNs,
    /// When the answer's head was there to be sent: microseconds before the kernel has it, and on
    /// loopback the proxy's socket. Absent: the connection, or the run, ended before that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub head_ns: Option<MonoNs>,
}
