//! Why a head is refused, and with which status.

/// Why a head is refused. The side that sent it is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum HeadError {
    /// It did not end within the [`crate::HeadLimit`].
    #[error("the head is longer than the limit")]
    TooLarge,
    /// More than [`crate::MAX_HEADERS`] header lines.
    #[error("the head has more than {} headers", crate::MAX_HEADERS)]
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
