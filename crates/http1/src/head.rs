//! Heads of requests and responses with their header lines, and why one is refused.

use crate::{BodyFraming, HEAD_MAX, MAX_HEADERS};

/// The head of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// What is to be done, as `GET`. Names are case-sensitive.
    pub method: String,
    /// The target as it came: `/path?query`, `http://host/path` or `*`.
    pub target: String,
    /// Version of the sender: HTTP/1.0 or HTTP/1.1.
    pub minor: u8,
    /// All header lines.
    pub headers: Headers,
    /// Where the request's body ends.
    pub body: BodyFraming,
}

impl RequestHead {
    /// The request line without its CR LF, as access logs show it: `GET /x HTTP/1.1`.
    pub fn request_line(&self) -> String {
        format!("{} {} HTTP/1.{}", self.method, self.target, self.minor)
    }

    /// The target without scheme and host: what an origin is asked for (RFC 9112 3.2.1).
    pub(crate) fn origin_form(&self) -> (&'static str, &str) {
        match split_absolute(&self.target) {
            None => ("", &self.target),
            // `http://host` and `http://host?query` name the root.
            Some((_, rest)) if rest.starts_with('/') => ("", rest),
            Some((_, rest)) => ("/", rest),
        }
    }
}

/// Parses a request head from its first byte. Empty lines before it are skipped and count as part
/// of it (RFC 9112 2.2). With the head comes its length in bytes, where the body starts; `None`: it has
/// not ended, so read more, and parse again from its first byte.
///
/// # Errors
/// The head is not one that a server may accept; [`HeadError::status`] is the answer.
pub fn parse_request(buf: &[u8]) -> Result<Option<(RequestHead, usize)>, HeadError> {
    let seen = &buf[..buf.len().min(HEAD_MAX)];
    let mut lines = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut lines);
    let parsed = request.parse(seen);
    if parsed == Err(httparse::Error::Version) && names_a_version(seen) {
        return Err(HeadError::UnsupportedVersion);
    }
    let Some(len) = length(parsed, seen)? else { return Ok(None) };
    let (Some(method), Some(target), Some(minor)) = (request.method, request.path, request.version)
    else {
        return Err(HeadError::BadRequest);
    };
    let headers = Headers::from_parsed(request.headers);
    check_host(method, target, minor, &headers)?;
    let body = BodyFraming::of_request(minor, &headers)?;
    let (method, target) = (method.to_owned(), target.to_owned());
    Ok(Some((RequestHead { method, target, minor, headers, body }, len)))
}

/// How long a head is; `None`: it has not ended.
fn length(parsed: httparse::Result<usize>, seen: &[u8]) -> Result<Option<usize>, HeadError> {
    match parsed {
        Ok(httparse::Status::Complete(len)) => Ok(Some(len)),
        Ok(httparse::Status::Partial) if seen.len() < HEAD_MAX => Ok(None),
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            Err(HeadError::TooLarge)
        }
        Err(_) => Err(HeadError::BadRequest),
    }
}

/// Whether the first line says `HTTP/` where the version belongs: another version, not garbage.
fn names_a_version(seen: &[u8]) -> bool {
    let mut words = seen.trim_ascii_start().splitn(3, |&byte| byte == b' ');
    words.nth(2).is_some_and(|version| version.starts_with(b"HTTP/"))
}

/// RFC 9112 3.2: exactly one Host in HTTP/1.1, at most one in HTTP/1.0; an absolute target has one as
/// well (3.2.2).
fn check_host(method: &str, target: &str, minor: u8, headers: &Headers) -> Result<(), HeadError> {
    let mut hosts = headers.all("Host");
    let fits = match (hosts.next(), hosts.next()) {
        (None, _) => minor == 0,
        (Some(host), None) => is_host(host),
        _ => false,
    };
    let named = match split_absolute(target) {
        Some((authority, _)) => is_host(authority.as_bytes()),
        None => target.starts_with('/') || (target == "*" && method == "OPTIONS"),
    };
    if fits && named { Ok(()) } else { Err(HeadError::BadRequest) }
}

/// A host with or without port: what could end or split it elsewhere is refused.
fn is_host(host: &[u8]) -> bool {
    let fits = |&byte: &u8| byte.is_ascii_graphic() && !b"/\\?#@,\"<>^`{|}".contains(&byte);
    !host.is_empty() && host.iter().all(fits)
}

/// `http://authority` and what follows it.
fn split_absolute(target: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = target.split_at_checked("http://".len())?;
    if !scheme.eq_ignore_ascii_case("http://") {
        return None;
    }
    Some(rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len())))
}

/// The head of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// Version of the sender: HTTP/1.0 or HTTP/1.1.
    pub minor: u8,
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

    /// Whether the server keeps the connection for another request (RFC 9112, 9.3).
    pub fn keeps_connection(&self) -> bool {
        let mut options = list_items(self.headers.all("Connection"));
        self.minor == 1 && !options.any(|option| option.eq_ignore_ascii_case(b"close"))
    }
}

/// Parses the head of the response to a request of this method, as [`parse_request()`] does.
///
/// # Errors
/// The head is not one that a client may accept. A gateway answers 502.
pub fn parse_response(
    buf: &[u8],
    request_method: &str,
) -> Result<Option<(ResponseHead, usize)>, HeadError> {
    let seen = &buf[..buf.len().min(HEAD_MAX)];
    let mut lines = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut lines);
    let Some(len) = length(response.parse(seen), seen)? else { return Ok(None) };
    let (Some(status @ 100..), Some(minor)) = (response.code, response.version) else {
        return Err(HeadError::BadRequest);
    };
    let reason = response.reason.unwrap_or_default().to_owned();
    let headers = Headers::from_parsed(response.headers);
    let body = BodyFraming::of_response(minor, &headers, status, request_method)?;
    Ok(Some((ResponseHead { minor, status, reason, headers, body }, len)))
}

/// Header lines in the order in which they came. Names compare without regard to case.
///
/// Values are bytes, trimmed, without CR, LF or NUL: only the parsers of this crate make them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, Vec<u8>)>);

/// RFC 9110 7.6.1; Proxy-Connection is an old mistake that it tells us to remove too.
const HOP_BY_HOP: [&str; 6] =
    ["Connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Upgrade"];

/// A sender cannot have these removed by naming them in Connection: without them the next hop
/// would see another message than this one.
const NOT_REMOVABLE: [&str; 3] = ["Content-Length", "Host", "Transfer-Encoding"];

impl Headers {
    pub(crate) fn from_parsed(parsed: &[httparse::Header<'_>]) -> Self {
        Self(parsed.iter().map(|line| (line.name.to_owned(), line.value.to_owned())).collect())
    }

    /// Every line, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// The first value of `name`.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.iter().find(|(each, _)| each.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Every value of `name`, in order.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.iter().filter(move |(each, _)| each.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The lines that may be passed on (RFC 9110 7.6.1): without Connection and what it names,
    /// Keep-Alive, Proxy-Connection, TE, Trailer and Upgrade.
    ///
    /// Content-Length, Host and Transfer-Encoding stay even if Connection names them.
    pub(crate) fn end_to_end(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let named: Vec<&[u8]> = list_items(self.all("Connection")).collect();
        self.iter().filter(move |(name, _)| {
            let is = |other: &&str| name.eq_ignore_ascii_case(other);
            let is_named =
                || named.iter().any(|option| option.eq_ignore_ascii_case(name.as_bytes()));
            !HOP_BY_HOP.iter().any(is) && (NOT_REMOVABLE.iter().any(is) || !is_named())
        })
    }
}

/// The items of comma-separated lists, trimmed; empty ones are skipped (RFC 9110 5.6.1).
pub(crate) fn list_items<'a>(
    values: impl Iterator<Item = &'a [u8]>,
) -> impl Iterator<Item = &'a [u8]> {
    values
        .flat_map(|value| value.split(|&byte| byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|item| !item.is_empty())
}

/// Why a head is refused, by the status that answers such a request; for a response, a gateway answers
/// 502. The side that sent it is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadError {
    /// It is not HTTP/1, or it says what could be read in two ways: of its target, its hosts or its body.
    BadRequest = 400,
    /// It did not end within [`HEAD_MAX`] bytes, or has more than [`MAX_HEADERS`] header lines.
    TooLarge = 431,
    /// A request in another transfer coding than `chunked` alone.
    UnsupportedTransferCoding = 501,
    /// HTTP, but neither 1.0 nor 1.1.
    UnsupportedVersion = 505,
}

impl HeadError {
    /// Its status.
    pub const fn status(self) -> u16 {
        self as u16
    }
}
