use proptest::prelude::*;

use super::{complete, lines, plain_headers, wire};
use crate::{
    BodyFraming, HEAD_MAX, HeadError, Method, ResponseHead, Version, parse_request, parse_response,
};

fn refused(text: &str) -> HeadError {
    let parsed = parse_request(&wire(text));
    parsed.expect_err(&format!("{text:?} should be refused"))
}

#[test]
fn a_request_is_read_as_it_came() {
    let bytes = wire("GET /bytes/3MiB?x=1 HTTP/1.1\nHost: a:8000\nX-Id:  7 \n\nBODY");
    let (head, len) = complete(parse_request(&bytes));
    assert_eq!(head.method, Method::Get);
    assert_eq!(head.target, "/bytes/3MiB?x=1");
    assert_eq!(head.version, Version::Http11);
    assert_eq!(head.path(), "/bytes/3MiB");
    assert_eq!(head.headers.get("x-id"), Some(&b"7"[..]));
    assert_eq!(head.body, BodyFraming::Empty);
    assert_eq!(head.request_line(), "GET /bytes/3MiB?x=1 HTTP/1.1");
    assert_eq!(&bytes[len..], b"BODY");
}

#[test]
fn an_absolute_target_has_a_path_and_http_1_0_needs_no_host() {
    for (text, path) in [
        ("GET HTTP://b/x?y HTTP/1.1\nHost: a\n\n", "/x"),
        ("GET http://b?y HTTP/1.1\nHost: a\n\n", "/"),
        ("HEAD / HTTP/1.0\n\n", "/"),
    ] {
        let (head, _) = complete(parse_request(&wire(text)));
        assert_eq!(head.path(), path, "{text}");
        assert_eq!(head.method == Method::Head, head.version == Version::Http10, "{text}");
    }
}

#[test]
fn connections_are_kept_by_http_1_1_unless_it_says_close() {
    for (lines, keeps) in [
        ("1.1\nHost: a", true),
        ("1.1\nHost: a\nConnection: x, Close", false),
        ("1.0\nHost: a\nConnection: x", false),
    ] {
        let (head, _) = complete(parse_request(&wire(&format!("GET / HTTP/{lines}\n\n"))));
        assert_eq!(head.keeps_connection(), keeps, "{lines}");
    }
}

#[test]
fn hosts_are_one_and_valid() {
    assert_eq!(refused("GET / HTTP/1.1\n\n"), HeadError::MissingHost);
    for lines in ["Host: a\nHost: a", "Host:", "Host: a b", "Host: a/b", "Host: u@a", "Host: a,b"] {
        assert_eq!(refused(&format!("GET / HTTP/1.1\n{lines}\n\n")), HeadError::BadHost, "{lines}");
    }
    assert_eq!(refused("GET / HTTP/1.0\nHost: a\nHost: b\n\n"), HeadError::BadHost);
}

#[test]
fn targets_are_paths_or_http_urls() {
    for line in [
        "GET x HTTP/1.1",
        "GET * HTTP/1.1",
        "CONNECT a:443 HTTP/1.1",
        "GET https://a/ HTTP/1.1",
        "GET http:// HTTP/1.1",
        "GET http://u@a/ HTTP/1.1",
    ] {
        assert_eq!(refused(&format!("{line}\nHost: a\n\n")), HeadError::BadTarget, "{line}");
    }
    let options = wire("OPTIONS * HTTP/1.1\nHost: a\n\n");
    assert!(parse_request(&options).is_ok());
}

#[test]
fn what_is_not_http_is_refused() {
    for text in [
        "\u{16}\u{3}\u{1}",
        "GET /\n\n",
        "GET / FOO\n\n",
        "G=T / HTTP/1.1\nHost: a\n\n",
        "GET /\u{0} HTTP/1.1\nHost: a\n\n",
        "GET / HTTP/1.1\nHost : a\n\n",
        "GET / HTTP/1.1\nHost: a\n folded\n\n",
        "GET / HTTP/1.1\nHost: a\nX: \u{0}\n\n",
        "GET / HTTP/1.1\nHost: a\nX: a\rb\n\n",
        "GET / HTTP/1.1\nno colon\n\n",
    ] {
        assert_eq!(refused(text), HeadError::BadSyntax, "{text:?}");
    }
    for version in ["HTTP/2.0", "HTTP/1.2", "HTTP/0.9", "HTTP/x"] {
        let error = refused(&format!("GET / {version}\nHost: a\n\n"));
        assert_eq!(error, HeadError::UnsupportedVersion, "{version}");
    }
}

#[test]
fn the_body_is_framed_in_one_way_only() {
    let framing = |lines: &str| {
        let bytes = wire(&format!("POST / HTTP/1.1\nHost: a\n{lines}\n\n"));
        match parse_request(&bytes) {
            Ok(Some((head, _))) => Ok(head.body),
            Ok(None) => panic!("the head has not ended"),
            Err(error) => Err(error),
        }
    };
    assert_eq!(framing("Content-Length: 18446744073709551615"), Ok(BodyFraming::Length(u64::MAX)));
    assert_eq!(framing("content-length: 007"), Ok(BodyFraming::Length(7)));
    assert_eq!(framing("Content-Length: 0"), Ok(BodyFraming::Empty));
    assert_eq!(framing("Transfer-Encoding: Chunked"), Ok(BodyFraming::Chunked));
    for value in ["18446744073709551616", "", "-1", "+1", "1 2", "0x1", "1,1", "1.0"] {
        let error = framing(&format!("Content-Length: {value}"));
        assert_eq!(error, Err(HeadError::BadContentLength), "{value:?}");
    }
    let twice = "Content-Length: 7\nContent-Length: 7";
    assert_eq!(framing(twice), Err(HeadError::BadContentLength));
    let both = "Content-Length: 7\nTransfer-Encoding: chunked";
    assert_eq!(framing(both), Err(HeadError::ConflictingFraming));
    for coding in ["gzip", "gzip, chunked", "chunked, chunked", "identity", "", "xchunked"] {
        let error = framing(&format!("Transfer-Encoding: {coding}"));
        assert_eq!(error, Err(HeadError::UnsupportedTransferCoding), "{coding:?}");
    }
    let error = refused("POST / HTTP/1.0\nTransfer-Encoding: chunked\n\n");
    assert_eq!(error, HeadError::TransferCodingInHttp10);
}

#[test]
fn a_head_may_fill_its_limit_and_no_more() {
    let of = |length: usize| {
        let head = "GET / HTTP/1.0\r\nX: ";
        format!("{head}{:x<1$}\r\n\r\n", "", length - head.len() - 4).into_bytes()
    };
    assert_eq!(complete(parse_request(&of(HEAD_MAX))).1, HEAD_MAX);
    let longer = of(HEAD_MAX + 1);
    assert_eq!(parse_request(&longer), Err(HeadError::TooLarge));
    // The verdict is the same when the bytes come one at a time, and at the earliest byte.
    assert_eq!(parse_request(&longer[..HEAD_MAX - 1]), Ok(None));
    assert_eq!(parse_request(&longer[..HEAD_MAX]), Err(HeadError::TooLarge));
    // Empty lines before the head count as part of it.
    assert_eq!(parse_request(&[b'\n'; HEAD_MAX]), Err(HeadError::TooLarge));
}

#[test]
fn sixty_four_headers_are_enough() {
    let with = |count: usize| {
        let lines: String = (0..count).map(|n| format!("X-{n}: 1\n")).collect();
        parse_request(&wire(&format!("GET / HTTP/1.0\n{lines}\n")))
    };
    assert_eq!(complete(with(64)).0.headers.iter().count(), 64);
    assert_eq!(with(65), Err(HeadError::TooManyHeaders));
}

fn answer(text: &str, request: &Method) -> Result<ResponseHead, HeadError> {
    let (head, _) = parse_response(&wire(text), request)?.expect("a head that has ended");
    Ok(head)
}

fn framing(text: &str) -> Result<BodyFraming, HeadError> {
    answer(text, &Method::Get).map(|head| head.body)
}

#[test]
fn a_response_is_read_as_it_came() {
    let head =
        answer("HTTP/1.0 404 Not here\nContent-Length: 3\n\n", &Method::Get).expect("a valid head");
    assert_eq!((head.status, head.reason.as_str()), (404, "Not here"));
    assert_eq!(head.body, BodyFraming::Length(3));
    assert!(!head.is_interim());
    let bare = answer("HTTP/1.1 100\n\n", &Method::Get).expect("a head without a reason");
    assert_eq!(bare.reason, "");
    assert!(bare.is_interim());
}

#[test]
fn bodies_end_as_rfc_9112_says() {
    use BodyFraming::{Chunked, Empty, Length, UntilClose};
    for (lines, expected) in [
        ("", UntilClose),
        ("Content-Length: 5", Length(5)),
        ("Content-Length: 0", Empty),
        ("Transfer-Encoding: chunked", Chunked),
        ("Transfer-Encoding: gzip, chunked", Chunked),
        ("Transfer-Encoding: gzip\nTransfer-Encoding: chunked", Chunked),
        ("Transfer-Encoding: gzip", UntilClose),
        ("Transfer-Encoding: chunked, gzip", UntilClose),
        ("Transfer-Encoding: chunked, chunked", UntilClose),
    ] {
        assert_eq!(framing(&format!("HTTP/1.1 200 OK\n{lines}\n\n")), Ok(expected), "{lines}");
    }
}

#[test]
fn some_answers_have_no_body_whatever_they_announce() {
    for lines in ["Content-Length: 5\n", "Transfer-Encoding: chunked\n", ""] {
        for status in [100, 103, 204, 304] {
            let text = format!("HTTP/1.1 {status} X\n{lines}\n");
            assert_eq!(framing(&text), Ok(BodyFraming::Empty), "{text}");
        }
        let head = answer(&format!("HTTP/1.1 200 OK\n{lines}\n"), &Method::Head);
        assert_eq!(head.map(|head| head.body), Ok(BodyFraming::Empty), "{lines}");
    }
}

#[test]
fn faulty_framing_is_refused_also_without_a_body() {
    for (head, expected) in [
        ("1.1 200 OK\nContent-Length: 5\nContent-Length: 6", HeadError::BadContentLength),
        ("1.1 304 X\nContent-Length: five", HeadError::BadContentLength),
        (
            "1.1 200 OK\nContent-Length: 5\nTransfer-Encoding: chunked",
            HeadError::ConflictingFraming,
        ),
        ("1.0 200 OK\nTransfer-Encoding: chunked", HeadError::TransferCodingInHttp10),
    ] {
        assert_eq!(framing(&format!("HTTP/{head}\n\n")), Err(expected), "{head}");
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
        assert_eq!(framing(text), Err(HeadError::BadSyntax), "{text:?}");
    }
    let long = format!("HTTP/1.1 200 OK\nX: {}", "x".repeat(9000));
    assert_eq!(framing(&long), Err(HeadError::TooLarge));
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
        let parse = |bytes: &[u8]| parse_response(bytes, &Method::Get);
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
            let _ = parse_response(&bytes, &Method::Get);
        }
    }
}
