//! Heads of requests and responses with their header lines, and why one is refused.

use crate::{BodyFraming, HEAD_MAX, MAX_HEADERS, Version};

/// The head of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestHead {
    /// What is asked for.
    pub method: Method,
    /// The target as it came: `/path?query`, `http://host/path` or `*`.
    pub target: String,
    /// Version of the sender.
    pub version: Version,
    /// All header lines.
    pub headers: Headers,
    /// Where the request's body ends.
    pub body: BodyFraming,
}

/// A request method. Names are case-sensitive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// GET.
    Get,
    /// HEAD: its answer has no body.
    Head,
    /// Any other token.
    Other(String),
}

impl Method {
    /// As it stands in the request line.
    pub fn name(&self) -> &str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Other(name) => name,
        }
    }
}

impl From<&str> for Method {
    fn from(name: &str) -> Self {
        match name {
            "GET" => Self::Get,
            "HEAD" => Self::Head,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl RequestHead {
    /// The request line without its CR LF, as access logs show it: `GET /x HTTP/1.1`.
    pub fn request_line(&self) -> String {
        format!("{} {} {}", self.method.name(), self.target, self.version.name())
    }

    /// The path that is asked for, without a query.
    pub fn path(&self) -> &str {
        let (root, target) = self.origin_form();
        if root.is_empty() { target.split('?').next().unwrap_or_default() } else { root }
    }

    /// Whether the client may send another request over this connection.
    pub fn keeps_connection(&self) -> bool {
        self.headers.keep_connection(self.version)
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
    let len = match request.parse(seen) {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) if seen.len() == HEAD_MAX => return Err(HeadError::TooLarge),
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::Version) if names_a_version(seen) => {
            return Err(HeadError::UnsupportedVersion);
        }
        Err(error) => return Err(error.into()),
    };
    let (Some(method), Some(target), Some(minor)) = (request.method, request.path, request.version)
    else {
        return Err(HeadError::BadSyntax);
    };
    let (method, version) = (Method::from(method), Version::from_minor(minor));
    let headers = Headers::from_parsed(request.headers);
    check_host(&method, target, version, &headers)?;
    let body = BodyFraming::of_request(version, &headers)?;
    let target = target.to_owned();
    Ok(Some((RequestHead { method, target, version, headers, body }, len)))
}

/// Whether the first line says `HTTP/` where the version belongs: another version, not garbage.
fn names_a_version(seen: &[u8]) -> bool {
    let mut words = seen.trim_ascii_start().splitn(3, |&byte| byte == b' ');
    words.nth(2).is_some_and(|version| version.starts_with(b"HTTP/"))
}

/// RFC 9112 3.2: exactly one Host in HTTP/1.1, at most one in HTTP/1.0; an absolute target has one as
/// well (3.2.2).
fn check_host(
    method: &Method,
    target: &str,
    version: Version,
    headers: &Headers,
) -> Result<(), HeadError> {
    let mut hosts = headers.all("Host");
    match (hosts.next(), hosts.next()) {
        (None, _) if version == Version::Http11 => return Err(HeadError::MissingHost),
        (Some(host), None) if !is_host(host) => return Err(HeadError::BadHost),
        (Some(_), Some(_)) => return Err(HeadError::BadHost),
        _ => {}
    }
    if target.starts_with('/') || (target == "*" && method.name() == "OPTIONS") {
        return Ok(());
    }
    match split_absolute(target) {
        Some((authority, _)) if is_host(authority.as_bytes()) => Ok(()),
        _ => Err(HeadError::BadTarget),
    }
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

    /// Whether the server keeps the connection for another request.
    pub fn keeps_connection(&self) -> bool {
        self.headers.keep_connection(self.version)
    }
}

/// Parses the head of the response to a `request`, as [`parse_request()`] does.
///
/// # Errors
/// The head is not one that a client may accept. A gateway answers 502.
pub fn parse_response(
    buf: &[u8],
    request: &Method,
) -> Result<Option<(ResponseHead, usize)>, HeadError> {
    let seen = &buf[..buf.len().min(HEAD_MAX)];
    let mut lines = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut lines);
    let len = match response.parse(seen)? {
        httparse::Status::Complete(len) => len,
        httparse::Status::Partial if seen.len() == HEAD_MAX => return Err(HeadError::TooLarge),
        httparse::Status::Partial => return Ok(None),
    };
    let (Some(status @ 100..), Some(minor)) = (response.code, response.version) else {
        return Err(HeadError::BadSyntax);
    };
    let version = Version::from_minor(minor);
    let reason = response.reason.unwrap_or_default().to_owned();
    let headers = Headers::from_parsed(response.headers);
    let body = BodyFraming::of_response(version, &headers, status, request)?;
    Ok(Some((ResponseHead { version, status, reason, headers, body }, len)))
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

    /// Whether the sender of these lines keeps its connection (RFC 9112, 9.3).
    fn keep_connection(&self, version: Version) -> bool {
        let mut options = list_items(self.all("Connection"));
        version == Version::Http11 && !options.any(|option| option.eq_ignore_ascii_case(b"close"))
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

/// Why a head is refused. The side that sent it is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum HeadError {
    /// It did not end within [`HEAD_MAX`] bytes.
    #[error("the head is longer than the limit")]
    TooLarge,
    /// More than [`MAX_HEADERS`] header lines.
    #[error("the head has more than {} headers", MAX_HEADERS)]
    TooManyHeaders,
    /// Not HTTP/1: a forbidden byte, a bad first line or header line, a status below 100.
    #[error("the head is not HTTP/1 syntax")]
    BadSyntax,
    /// HTTP, but neither 1.0 nor 1.1.
    #[error("the head is of another version than HTTP/1.0 and HTTP/1.1")]
    UnsupportedVersion,
    /// The request target is neither a path, nor `http://host/path`, nor `*` with OPTIONS.
    #[error("the request target is neither a path nor an http URL")]
    BadTarget,
    /// An HTTP/1.1 request without a Host (RFC 9112 3.2).
    #[error("the HTTP/1.1 request has no Host")]
    MissingHost,
    /// Several Host lines, or one that is no host (RFC 9112 3.2).
    #[error("the request has several Hosts or one that is no host name")]
    BadHost,
    /// Content-Length beside Transfer-Encoding (RFC 9112 6.1).
    #[error("the head has both Content-Length and Transfer-Encoding")]
    ConflictingFraming,
    /// Content-Length is not one number of at most 64 bits, or stands there twice.
    #[error("Content-Length is not one number")]
    BadContentLength,
    /// Transfer-Encoding in HTTP/1.0, which has none (RFC 9112 6.1).
    #[error("the HTTP/1.0 head has a Transfer-Encoding")]
    TransferCodingInHttp10,
    /// A request in another transfer coding than `chunked` alone.
    #[error("the request is in another transfer coding than chunked")]
    UnsupportedTransferCoding,
}

impl HeadError {
    /// The status that answers such a request. For a response head, a gateway answers 502 instead.
    pub const fn status(self) -> u16 {
        match self {
            Self::TooLarge | Self::TooManyHeaders => 431,
            Self::UnsupportedTransferCoding => 501,
            Self::UnsupportedVersion => 505,
            Self::BadSyntax
            | Self::BadTarget
            | Self::MissingHost
            | Self::BadHost
            | Self::ConflictingFraming
            | Self::BadContentLength
            | Self::TransferCodingInHttp10 => 400,
        }
    }
}

impl From<httparse::Error> for HeadError {
    fn from(error: httparse::Error) -> Self {
        match error {
            httparse::Error::TooManyHeaders => Self::TooManyHeaders,
            _ => Self::BadSyntax,
        }
    }
}
