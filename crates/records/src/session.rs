//! One downstream connection of the proxy, told by the proxy; its request, told by the upstream; and
//! the fields of an access log as nginx prints them, whoever writes the line.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Bytes, Micros, MonoNs};

/// A worker accepted a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// Which worker, from 0.
    pub worker: u32,
    /// The session's number within its worker.
    pub session: u64,
    /// The client's port.
    pub client_port: u16,
    /// When `accept` returned, by the true clock.
    pub at_ns: MonoNs,
}

/// One session, from accept to close, by the true clock; `log` by the worker's cached clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Which worker, from 0.
    pub worker: u32,
    /// Counts up from 0 within one worker.
    pub session: u64,
    /// The client's port: the key that joins a session to a fetch or a download.
    pub client_port: u16,
    /// Our port on the upstream connection, once there was one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub upstream_port: Option<u16>,
    /// The request line without its CR LF; empty when none was read.
    pub request: String,
    /// Status as the access log has it; 499: the client closed before an answer's head was sent.
    /// Zero: nothing was asked, and nothing is logged.
    pub status: u16,
    /// How it ended.
    pub end: SessionEnd,
    /// Body bytes sent to the client.
    pub body_bytes: Bytes,
    /// When `accept` returned.
    pub accepted_ns: MonoNs,
    /// When the request's head was complete.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub request_ns: Option<MonoNs>,
    /// When the upstream connection was seen to stand.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connected_ns: Option<MonoNs>,
    /// When the answer's head was complete.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub head_ns: Option<MonoNs>,
    /// When the session was closed.
    pub closed_ns: MonoNs,
    /// What the access log says of it.
    pub log: LogTimes,
    /// Steps this session was given.
    pub steps: u64,
    /// Its longest step.
    pub longest_step_us: Micros,
    /// All its steps together.
    #[serde(default)]
    pub steps_us: Micros,
    /// Times of a millisecond or more between two of its steps, the first of which found the
    /// upstream empty, after the answer's head.
    #[serde(default)]
    pub stalled_upstream_us: Micros,
    /// The same, where the first of the two found the client's socket full.
    #[serde(default)]
    pub stalled_client_us: Micros,
}

impl Session {
    /// Whether the access log has a line of it: status 0 means that nothing was asked.
    pub const fn is_logged(&self) -> bool {
        self.status != 0
    }
}

/// Times as nginx logs them: from a clock that stands still within a loop turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogTimes {
    /// `$time_local`: milliseconds since 1970.
    pub at_unix_ms: u64,
    /// `$request_time`: from the first byte of the request read to the log line.
    pub rt_ms: u64,
    /// `$upstream_connect_time`; absent: logged as `-`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub uct_ms: Option<u64>,
    /// `$upstream_header_time`; absent: logged as `-`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub uht_ms: Option<u64>,
    /// `$upstream_response_time`; absent: logged as `-`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub urt_ms: Option<u64>,
}

/// How a session ended, with the side that ended it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionEnd {
    /// The whole answer was sent.
    #[default]
    Completed,
    /// The client closed its side.
    ClientClosed,
    /// The client reset the connection.
    ClientReset,
    /// The client sent no request, or took no bytes, for too long.
    ClientTimeout,
    /// The request could not be served: 400, 413, 431 or 501 was sent.
    BadRequest,
    /// The upstream refused or could not be reached.
    UpstreamUnreachable,
    /// The upstream did not connect or answer in time.
    UpstreamTimeout,
    /// The upstream's head was not HTTP or too large.
    UpstreamBadHead,
    /// The upstream closed or reset inside its head or body.
    UpstreamClosedEarly,
    /// This host had no port for the upstream connection (EADDRNOTAVAIL).
    NoPort,
    /// This host had no descriptor or memory for the upstream connection; or its temporary file
    /// could not be made, written or read.
    LocalError,
    /// Its worker had no connection left for it, and closed it as soon as it was accepted.
    TurnedAway,
    /// The proxy was told to stop.
    Shutdown,
}

/// Requests of which the origin has no [`Answered`]: who reads its records was too slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswersLost {
    /// How many.
    pub requests: u64,
}

/// The origin had a request, and what became of it.
///
/// Told by the origin, so it costs no worker anything, and it is there for any proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The port that asked: [`crate::Session::upstream_port`] of the session that did.
    pub upstream_port: u16,
    /// When the request's head had been read.
    pub request_ns: MonoNs,
    /// Until when it waited for one of the origin's workers, if all were busy; where none took it, the
    /// end of the connection or of the run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queued_until_ns: Option<MonoNs>,
    /// When the answer's head was there to be sent: microseconds before the kernel has it, and on
    /// loopback the proxy's socket. Absent: the connection, or the run, ended before that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub head_ns: Option<MonoNs>,
}

/// Milliseconds as nginx prints them, in seconds: `1.004`; `None`: `-`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSeconds(pub Option<u64>);

impl fmt::Display for LogSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(ms) => write!(f, "{}.{:03}", ms / 1_000, ms % 1_000),
            None => f.write_str("-"),
        }
    }
}

/// Quotes, backslashes and what is not printable ASCII as `\xHH` (`ngx_http_log_escape`), so that no
/// client can forge a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEscaped<'a>(pub &'a str);

impl fmt::Display for LogEscaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0.bytes() {
            match byte {
                b'"' | b'\\' | 0..=0x1f | 0x7f.. => write!(f, "\\x{byte:02X}")?,
                printable => write!(f, "{}", char::from(printable))?,
            }
        }
        Ok(())
    }
}
