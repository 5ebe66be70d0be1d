//! What is accepted, what is refused and why, and that cutting the bytes changes nothing.

mod bodies;
mod heads;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use proptest::prelude::*;

use crate::{BodyFraming, HeadError, error_response, parse_request, parse_response};

/// The head, or a panic that tells why there is none.
fn complete<T>(parsed: Result<Option<(T, usize)>, HeadError>) -> (T, usize) {
    parsed.expect("a valid head").expect("the head has ended")
}

/// `text` with CR LF for each LF.
fn wire(text: &str) -> Vec<u8> {
    text.replace('\n', "\r\n").into_bytes()
}

/// Header lines whose names no rule knows.
fn plain_headers() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::vec(("X-[A-Za-z0-9_]{1,12}", "([!-~]([ -~]{0,20}[!-~])?)?"), 0..12)
}

fn lines(headers: &[(String, String)]) -> String {
    headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
}

const UPSTREAM: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 80);

fn to_upstream(text: &str) -> String {
    let (head, _) = complete(parse_request(&wire(text)));
    String::from_utf8(head.encode_for_upstream(UPSTREAM)).expect("text").replace("\r\n", "\n")
}

fn to_client(text: &str) -> String {
    let (head, _) = complete(parse_response(&wire(text), "GET"));
    String::from_utf8(head.encode_for_client()).expect("text").replace("\r\n", "\n")
}

#[test]
fn a_request_goes_upstream_as_nginx_sends_it() {
    let request = "POST /x?y HTTP/1.1\nHost: a\nUser-Agent: t\nConnection: keep-alive, X-Secret\n\
                   X-Secret: 1\nTE: trailers\nUpgrade: h2c\nKeep-Alive: 5\nExpect: 100-continue\n\
                   Proxy-Connection: close\nTrailer: X\nContent-Length: 3\nA: 1\na: 2\n\n";
    assert_eq!(
        to_upstream(request),
        "POST /x?y HTTP/1.0\nHost: 127.0.0.1:80\nConnection: close\nUser-Agent: t\nContent-Length: 3\n\
         A: 1\na: 2\n\n"
    );
    let sent = to_upstream("POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n");
    assert!(!sent.contains("hunk"), "{sent}");
}

#[test]
fn the_upstream_is_asked_for_a_path() {
    for (target, path) in [("http://a/x", "/x"), ("http://a", "/"), ("http://a?q=/", "/?q=/")] {
        let sent = to_upstream(&format!("GET {target} HTTP/1.1\nHost: a\n\n"));
        assert!(sent.starts_with(&format!("GET {path} HTTP/1.0\n")), "{sent}");
    }
}

#[test]
fn an_answer_keeps_its_framing_whatever_connection_says() {
    for (came, goes) in [
        (
            "1.0 200 Fine\nConnection: Keep-Alive\nServer: s\nContent-Length: 3",
            "Fine\nServer: s\nContent-Length: 3",
        ),
        ("1.1 200 OK\nTransfer-Encoding: chunked\nTrailer: X", "OK\nTransfer-Encoding: chunked"),
        (
            "1.1 200 OK\nConnection: content-length, x\nContent-Length: 3\nX: 1",
            "OK\nContent-Length: 3",
        ),
        (
            "1.1 200 OK\nConnection: transfer-encoding\nTransfer-Encoding: chunked",
            "OK\nTransfer-Encoding: chunked",
        ),
    ] {
        let (reason, lines) = goes.split_once('\n').expect("two parts");
        let expected = format!("HTTP/1.1 200 {reason}\nConnection: close\n{lines}\n\n");
        assert_eq!(to_client(&format!("HTTP/{came}\n\n")), expected);
    }
}

#[test]
fn each_error_has_an_answer_which_is_whole() {
    assert_eq!(HeadError::TooLarge.status(), 431);
    for status in [400, 408, 413, 431, 501, 502, 504, 505, 599] {
        let (bytes, head_len) = error_response(status);
        let (head, len) = complete(parse_response(&bytes, "GET"));
        assert_eq!((head.status, head_len), (status, len));
        assert_eq!(head.body, BodyFraming::Length((bytes.len() - len) as u64));
        assert_eq!(head.headers.get("connection"), Some(&b"close"[..]));
    }
}

proptest! {
    #[test]
    fn what_goes_upstream_reads_back(
        path in "/[!-~]{0,40}",
        headers in plain_headers(),
    ) {
        let text = format!("GET {path} HTTP/1.1\nHost: a\n{}\n", lines(&headers));
        let (head, _) = complete(parse_request(&wire(&text)));
        let sent = head.encode_for_upstream(UPSTREAM);
        let (again, len) = complete(parse_request(&sent));
        prop_assert_eq!(len, sent.len());
        prop_assert_eq!(again.request_line(), format!("GET {path} HTTP/1.0"));
        let passed: Vec<_> = again.headers.iter().skip(2).collect();
        let came: Vec<_> = head.headers.iter().skip(1).collect();
        prop_assert_eq!(passed, came);
    }
}
