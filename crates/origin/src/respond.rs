//! Which answer a request gets. Pure: no socket, no clock.

use hyper::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use records::Bytes;

use crate::Body;

/// The only resource: any number of bytes.
const PREFIX: &str = "/bytes/";

/// The answer to `request`; hyper leaves the body of a HEAD out.
///
/// An error's body is empty: its status says it all, and a client that counts bytes is not misled.
pub(crate) fn respond<B>(request: &Request<B>) -> Response<Body> {
    let Some(size) = request.uri().path().strip_prefix(PREFIX) else {
        return answer(StatusCode::NOT_FOUND, Bytes(0));
    };
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refusal = answer(StatusCode::METHOD_NOT_ALLOWED, Bytes(0));
        refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refusal;
    }
    match size.parse() {
        Ok(size) => {
            let mut found = answer(StatusCode::OK, size);
            let octets = HeaderValue::from_static("application/octet-stream");
            found.headers_mut().insert(CONTENT_TYPE, octets);
            found
        }
        Err(_) => answer(StatusCode::BAD_REQUEST, Bytes(0)),
    }
}

fn answer(status: StatusCode, size: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::new(size.0));
    *response.status_mut() = status;
    // Said here and not left to hyper, so that a HEAD and a body of nothing tell it too.
    response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(size.0));
    response
}
