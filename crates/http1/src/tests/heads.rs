use proptest::prelude::*;

use super::{complete, lines, plain_headers, wire};
use crate::{
    BodyFraming, HEAD_MAX, HeadError, RequestHead, ResponseHead, parse_request, parse_response,
};
use HeadError::{BadRequest, TooLarge, UnsupportedTransferCoding, UnsupportedVersion};

fn parsed(text: &str) -> Result<RequestHead, HeadError> {
    parse_request(&wire(text)).map(|head| head.expect("a head that has ended").0)
}

#[test]
fn a_request_is_read_as_it_came() {
    let bytes = wire("GET /bytes/3MiB?x=1 HTTP/1.1\nHost: a:8000\nX-Id:  7 \n\nBODY");
    let (head, len) = complete(parse_request(&bytes));
    assert_eq!((head.method.as_str(), head.target.as_str()), ("GET", "/bytes/3MiB?x=1"));
    assert_eq!(head.headers.get("x-id"), Some(&b"7"[..]));
    assert_eq!(head.body, BodyFraming::Length(0));
    assert_eq!(head.request_line(), "GET /bytes/3MiB?x=1 HTTP/1.1");
    assert_eq!(&bytes[len..], b"BODY");
    assert_eq!(parsed("HEAD / HTTP/1.0\n\n").expect("no host").request_line(), "HEAD / HTTP/1.0");
    parsed("OPTIONS * HTTP/1.1\nHost: a\n\n").expect("of the server itself");
}

#[test]
fn what_is_not_http_or_could_be_read_in_two_ways_is_refused() {
    for (text, error) in [
        ("\u{16}\u{3}\u{1}", BadRequest),
        ("GET /\n\n", BadRequest),
        ("GET / FOO\n\n", BadRequest),
        ("G=T / HTTP/1.1\nHost: a\n\n", BadRequest),
        ("GET /\u{0} HTTP/1.1\nHost: a\n\n", BadRequest),
        ("GET / HTTP/1.1\nHost : a\n\n", BadRequest),
        ("GET / HTTP/1.1\nHost: a\n folded\n\n", BadRequest),
        ("GET / HTTP/1.1\nHost: a\nX: \u{0}\n\n", BadRequest),
        ("GET / HTTP/1.1\nHost: a\nX: a\rb\n\n", BadRequest),
        ("GET / HTTP/1.1\nno colon\n\n", BadRequest),
        ("GET / HTTP/2.0\nHost: a\n\n", UnsupportedVersion),
        ("GET / HTTP/1.2\nHost: a\n\n", UnsupportedVersion),
        ("GET / HTTP/0.9\nHost: a\n\n", UnsupportedVersion),
        ("GET / HTTP/x\nHost: a\n\n", UnsupportedVersion),
        // Hosts are one and valid, but in HTTP/1.0 there may be none.
        ("GET / HTTP/1.1\n\n", BadRequest),
        ("GET / HTTP/1.1\nHost: a\nHost: a\n\n", BadRequest),
        ("GET / HTTP/1.0\nHost: a\nHost: b\n\n", BadRequest),
        ("GET / HTTP/1.1\nHost:\n\n", BadRequest),
        ("GET / HTTP/1.1\nHost: a b\n\n", BadRequest),
        ("GET / HTTP/1.1\nHost: a/b\n\n", BadRequest),
        ("GET / HTTP/1.1\nHost: u@a\n\n", BadRequest),
        ("GET / HTTP/1.1\nHost: a,b\n\n", BadRequest),
        // Targets are paths or URLs of http.
        ("GET x HTTP/1.1\nHost: a\n\n", BadRequest),
        ("GET * HTTP/1.1\nHost: a\n\n", BadRequest),
        ("CONNECT a:443 HTTP/1.1\nHost: a\n\n", BadRequest),
        ("GET https://a/ HTTP/1.1\nHost: a\n\n", BadRequest),
        ("GET http:// HTTP/1.1\nHost: a\n\n", BadRequest),
        ("GET http://u@a/ HTTP/1.1\nHost: a\n\n", BadRequest),
    ] {
        assert_eq!(parsed(text), Err(error), "{text:?}");
    }
}

#[test]
fn the_body_of_a_request_is_framed_in_one_way_only() {
    for (lines, expected) in [
        ("Content-Length: 18446744073709551615", Ok(BodyFraming::Length(u64::MAX))),
        ("content-length: 007", Ok(BodyFraming::Length(7))),
        ("Transfer-Encoding: Chunked", Ok(BodyFraming::Chunked)),
        ("Content-Length: 18446744073709551616", Err(BadRequest)),
        ("Content-Length:", Err(BadRequest)),
        ("Content-Length: -1", Err(BadRequest)),
        ("Content-Length: +1", Err(BadRequest)),
        ("Content-Length: 1 2", Err(BadRequest)),
        ("Content-Length: 0x1", Err(BadRequest)),
        ("Content-Length: 1,1", Err(BadRequest)),
        ("Content-Length: 1.0", Err(BadRequest)),
        ("Content-Length: 7\nContent-Length: 7", Err(BadRequest)),
        ("Content-Length: 7\nTransfer-Encoding: chunked", Err(BadRequest)),
        ("Transfer-Encoding: gzip", Err(UnsupportedTransferCoding)),
        ("Transfer-Encoding: gzip, chunked", Err(UnsupportedTransferCoding)),
        ("Transfer-Encoding: chunked, chunked", Err(UnsupportedTransferCoding)),
        ("Transfer-Encoding: identity", Err(UnsupportedTransferCoding)),
        ("Transfer-Encoding:", Err(UnsupportedTransferCoding)),
        ("Transfer-Encoding: xchunked", Err(UnsupportedTransferCoding)),
    ] {
        let head = parsed(&format!("POST / HTTP/1.1\nHost: a\n{lines}\n\n"));
        assert_eq!(head.map(|head| head.body), expected, "{lines:?}");
    }
    assert_eq!(parsed("POST / HTTP/1.0\nTransfer-Encoding: chunked\n\n"), Err(BadRequest));
}

#[test]
fn a_head_may_fill_its_limit_and_no_more() {
    let of = |length: usize| {
        let head = "GET / HTTP/1.0\r\nX: ";
        format!("{head}{:x<1$}\r\n\r\n", "", length - head.len() - 4).into_bytes()
    };
    assert_eq!(complete(parse_request(&of(HEAD_MAX))).1, HEAD_MAX);
    let longer = of(HEAD_MAX + 1);
    assert_eq!(parse_request(&longer), Err(TooLarge));
    // The verdict is the same when the bytes come one at a time, and at the earliest byte.
    assert_eq!(parse_request(&longer[..HEAD_MAX - 1]), Ok(None));
    assert_eq!(parse_request(&longer[..HEAD_MAX]), Err(TooLarge));
    // Empty lines before the head count as part of it.
    assert_eq!(parse_request(&[b'\n'; HEAD_MAX]), Err(TooLarge));
}

#[test]
fn sixty_four_headers_are_enough() {
    let with = |count: usize| {
        let lines: String = (0..count).map(|n| format!("X-{n}: 1\n")).collect();
        parse_request(&wire(&format!("GET / HTTP/1.0\n{lines}\n")))
    };
    assert_eq!(complete(with(64)).0.headers.iter().count(), 64);
    assert_eq!(with(65), Err(TooLarge));
}

fn answer(text: &str, request_method: &str) -> Result<ResponseHead, HeadError> {
    let (head, _) = parse_response(&wire(text), request_method)?.expect("a head that has ended");
    Ok(head)
}

#[test]
fn a_response_is_read_as_it_came() {
    let head = answer("HTTP/1.0 404 Not here\nContent-Length: 3\n\n", "GET").expect("a valid head");
    assert_eq!((head.status, head.reason.as_str()), (404, "Not here"));
    assert_eq!(head.body, BodyFraming::Length(3));
    assert!(!head.is_interim());
    let bare = answer("HTTP/1.1 100\n\n", "GET").expect("a head without a reason");
    assert_eq!((bare.reason.as_str(), bare.is_interim()), ("", true));
    for (lines, keeps) in
        [("1.1 200", true), ("1.1 200\nConnection: x, Close", false), ("1.0 200", false)]
    {
        let head = answer(&format!("HTTP/{lines}\n\n"), "GET").expect("a valid head");
        assert_eq!(head.keeps_connection(), keeps, "{lines}");
    }
}

#[test]
fn bodies_end_as_rfc_9112_says() {
    use BodyFraming::{Chunked, Length, UntilClose};
    for (head, expected) in [
        ("1.1 200 OK", Ok(UntilClose)),
        ("1.1 200 OK\nContent-Length: 5", Ok(Length(5))),
        ("1.1 200 OK\nContent-Length: 0", Ok(Length(0))),
        ("1.1 200 OK\nTransfer-Encoding: chunked", Ok(Chunked)),
        ("1.1 200 OK\nTransfer-Encoding: gzip, chunked", Ok(Chunked)),
        ("1.1 200 OK\nTransfer-Encoding: gzip\nTransfer-Encoding: chunked", Ok(Chunked)),
        ("1.1 200 OK\nTransfer-Encoding: gzip", Ok(UntilClose)),
        ("1.1 200 OK\nTransfer-Encoding: chunked, gzip", Ok(UntilClose)),
        ("1.1 200 OK\nTransfer-Encoding: chunked, chunked", Ok(UntilClose)),
        // Faulty framing is refused, also where there is no body.
        ("1.1 200 OK\nContent-Length: 5\nContent-Length: 6", Err(BadRequest)),
        ("1.1 304 X\nContent-Length: five", Err(BadRequest)),
        ("1.1 200 OK\nContent-Length: 5\nTransfer-Encoding: chunked", Err(BadRequest)),
        ("1.0 200 OK\nTransfer-Encoding: chunked", Err(BadRequest)),
    ] {
        let head = answer(&format!("HTTP/{head}\n\n"), "GET");
        assert_eq!(head.map(|head| head.body), expected);
    }
    for lines in ["Content-Length: 5\n", "Transfer-Encoding: chunked\n", ""] {
        for (status, method) in
            [(100, "GET"), (103, "GET"), (204, "GET"), (304, "GET"), (200, "HEAD")]
        {
            let text = format!("HTTP/1.1 {status} X\n{lines}\n");
            assert_eq!(answer(&text, method).map(|head| head.body), Ok(Length(0)), "{text}");
        }
    }
}

#[test]
fn what_is_no_response_is_refused() {
    for text in [
        "SSH-2.0-x\n",
        "HTTP/2 200 OK\n\n",
        "HTTP/1.1 099 X\n\n",
        "HTTP/1.1 20 OK\n\n",
        "HTTP/1.1 200 O\u{0}K\n\n",
        "HTTP/1.1 200 OK\nA: b\n c\n\n",
        "<html>",
    ] {
        assert_eq!(answer(text, "GET"), Err(BadRequest), "{text:?}");
    }
    let long = format!("HTTP/1.1 200 OK\nX: {}", "x".repeat(9000));
    assert_eq!(answer(&long, "GET"), Err(TooLarge));
}

proptest! {
    #[test]
    fn a_request_does_not_depend_on_how_it_is_cut(
        method in "[A-Z]{1,8}",
        path in "/[!-~]{0,40}",
        headers in plain_headers(),
        length in prop::option::of(any::<u64>()),
    ) {
        let length = length.map_or_else(String::new, |n| format!("Content-Length: {n}\n"));
        let text = format!("{method} {path} HTTP/1.1\nHost: a\n{}{length}\n", lines(&headers));
        let mut bytes = wire(&text);
        let (head, len) = complete(parse_request(&bytes));
        prop_assert_eq!(len, bytes.len());
        prop_assert_eq!(head.request_line(), format!("{method} {path} HTTP/1.1"));
        for cut in 0..bytes.len() {
            let parsed = parse_request(&bytes[..cut]);
            prop_assert_eq!(parsed, Ok(None), "cut at {}", cut);
        }
        bytes.extend_from_slice(b"GET /next");
        let again = parse_request(&bytes);
        prop_assert_eq!(again, Ok(Some((head, len))));
    }

    #[test]
    fn a_response_does_not_depend_on_how_it_is_cut(
        status in 100..1000u16,
        reason in "[ -~]{0,20}",
        headers in plain_headers(),
    ) {
        let text = format!("HTTP/1.1 {status} {reason}\n{}\n", lines(&headers));
        let bytes = wire(&text);
        let parse = |bytes: &[u8]| parse_response(bytes, "GET");
        let (head, len) = complete(parse(&bytes));
        prop_assert_eq!((head.status, len), (status, bytes.len()));
        for cut in 0..bytes.len() {
            prop_assert_eq!(parse(&bytes[..cut]), Ok(None), "cut at {}", cut);
        }
    }

    #[test]
    fn no_bytes_panic(
        junk in prop::collection::vec(any::<u8>(), 0..600),
        at in 0..60usize,
        byte in any::<u8>(),
    ) {
        let mut request = wire("POST http://a/x HTTP/1.1\nHost: a:80\nContent-Length: 10\n\n");
        let mut response = wire("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nConnection: x\n\n");
        (request[at.min(50)], response[at.min(50)]) = (byte, byte);
        for bytes in [junk, request, response] {
            if let Ok(Some((_, len))) = parse_request(&bytes) {
                prop_assert!(len <= bytes.len());
            }
            let _ = parse_response(&bytes, "GET");
        }
    }
}
