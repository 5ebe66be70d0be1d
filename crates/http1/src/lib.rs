//! Sans-io HTTP/1.1: heads over `httparse`, and where a body ends on the wire.
//!
//! The proxy uses it in both directions, the origin for requests, the clients for answers. Bytes come in, values come
//! out: nothing here reads a socket or a clock.
//!
//! Not for: connections, timeouts, decoding a body (it is relayed as it is) or giving
//! it a content coding, trailers as data, CONNECT and upgrades.
//!
//! Invariants:
//! - No input panics, and none makes a parser keep or scan more than [`HEAD_MAX`] bytes.
//! - How the bytes were cut into reads changes neither a head nor the end of a body.
//! - What two readers could frame differently is refused (request smuggling, RFC 9112 11.2).
//! - What was parsed holds no CR, LF or NUL, so that encoding it again cannot inject a line.

mod answer;
mod body;
mod encode;
mod head;

pub use answer::{Answer, State, Wanted};
pub use body::{Body, BodyFraming, FramingError};
pub use encode::error_response;
pub use head::{HeadError, Headers, RequestHead, ResponseHead, parse_request, parse_response};

/// Header lines of one head at most. More are refused with 431.
pub const MAX_HEADERS: usize = 64;

/// How long a head may be, in bytes, with its blank line: one of nginx's `large_client_header_buffers 4 8k`.
///
/// nginx bounds each line by one buffer and the head by all four; here the whole head has one bound.
pub const HEAD_MAX: usize = 8 * 1024;

#[cfg(test)]
mod tests;
