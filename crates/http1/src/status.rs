//! Answers that a server gives by itself.

/// A whole small answer of that status: text, Content-Length, `Connection: close`.
///
/// For errors: a status that has no body (1xx, 204, 304) or is none at all becomes 500.
pub fn error_response(status: u16) -> Vec<u8> {
    let status = match status {
        204 | 304 | 0..200 | 1000.. => 500,
        other => other,
    };
    let reason = reason_phrase(status);
    let body = format!("{status} {reason}\n");
    let length = body.len();
    format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

/// The usual words for a status (RFC 9110 15, RFC 6585); `Unknown` for others.
pub const fn reason_phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Content Too Large",
        414 => "URI Too Long",
        417 => "Expectation Failed",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Unknown",
    }
}
