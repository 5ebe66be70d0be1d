//! What a proxy sends: heads as it passes them on, and answers of its own.

use std::net::SocketAddr;

use http::StatusCode;

use crate::{RequestHead, ResponseHead};

impl RequestHead {
    /// The head that asks the upstream `host` for the same, as nginx's `proxy_pass` does without
    /// further directives (ngx_http_proxy_module, before 1.29.7): HTTP/1.0, `Host` of the upstream,
    /// `Connection: close`; hop-by-hop headers and Expect removed.
    ///
    /// HTTP/1.0 has no chunks: a request with [`crate::BodyFraming::Chunked`] cannot be passed on
    /// so, because its Transfer-Encoding is removed. Answer it with 411 instead.
    pub fn encode_for_upstream(&self, host: SocketAddr) -> Vec<u8> {
        let (root, target) = self.origin_form();
        let mut out = Vec::with_capacity(512);
        push(
            &mut out,
            &[&self.method, " ", root, target, " HTTP/1.0\r\nHost: ", &host.to_string()],
        );
        push(&mut out, &["\r\nConnection: close\r\n"]);
        const DROPPED: [&str; 3] = ["Host", "Expect", "Transfer-Encoding"];
        let dropped = |name: &str| DROPPED.iter().any(|each| name.eq_ignore_ascii_case(each));
        for (name, value) in self.headers.end_to_end() {
            if !dropped(name) {
                push_line(&mut out, name, value);
            }
        }
        push(&mut out, &["\r\n"]);
        out
    }
}

impl ResponseHead {
    /// The head that passes this answer on: HTTP/1.1, `Connection: close`, hop-by-hop headers
    /// removed. Content-Length and Transfer-Encoding stay, so that the body follows as it came.
    pub fn encode_for_client(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(512);
        let status = self.status.to_string();
        push(&mut out, &["HTTP/1.1 ", &status, " ", &self.reason, "\r\nConnection: close\r\n"]);
        for (name, value) in self.headers.end_to_end() {
            push_line(&mut out, name, value);
        }
        push(&mut out, &["\r\n"]);
        out
    }
}

fn push(out: &mut Vec<u8>, parts: &[&str]) {
    parts.iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
}

fn push_line(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    push(out, &[name, ": "]);
    out.extend_from_slice(value);
    push(out, &["\r\n"]);
}

/// A whole small answer of that status, and how long its head is: text, Content-Length,
/// `Connection: close`.
///
/// For errors, whose answers have a body.
pub fn error_response(status: u16) -> (Vec<u8>, usize) {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let reason = reason.unwrap_or("Unknown");
    let body = format!("{status} {reason}\n");
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    ((head.clone() + &body).into_bytes(), head.len())
}
