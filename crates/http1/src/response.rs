//! Response heads.

use crate::{BodyFraming, HeadError, HeadLimit, Headers, MAX_HEADERS, Method, Parsed, Version};

/// The head of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResponseHead {
    /// Version of the sender.
    pub version: Version,
    /// 100 to 999.
    pub status: u16,
    /// The words after the status; may be empty.
    pub reason: String,
    /// All header lines.
    pub headers: Headers,
    /// Where the response's body ends.
    pub body: BodyFraming,
}

impl ResponseHead {
    /// Whether the final answer follows this head (status 1xx, RFC 9110 15.2).
    pub const fn is_interim(&self) -> bool {
        matches!(self.status, 100..=199)
    }
}

/// Parses the head of the response to a `request`, from its first byte.
///
/// # Errors
/// The head is not one that a client may accept. A gateway answers 502.
pub fn parse_response(
    buf: &[u8],
    limit: HeadLimit,
    request: &Method,
) -> Result<Parsed<ResponseHead>, HeadError> {
    let seen = &buf[..buf.len().min(limit.0)];
    let mut lines = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut lines);
    let len = match response.parse(seen)? {
        httparse::Status::Complete(len) => len,
        httparse::Status::Partial if seen.len() == limit.0 => return Err(HeadError::TooLarge),
        httparse::Status::Partial => return Ok(Parsed::Partial),
    };
    let (Some(status @ 100..), Some(minor)) = (response.code, response.version) else {
        return Err(HeadError::BadSyntax);
    };
    let version = Version::from_minor(minor);
    let reason = response.reason.unwrap_or_default().to_owned();
    let headers = Headers::from_parsed(response.headers);
    let body = BodyFraming::of_response(version, &headers, status, request)?;
    Ok(Parsed::Complete { head: ResponseHead { version, status, reason, headers, body }, len })
}
