use proptest::prelude::*;

use super::{complete, plain_headers, wire};
use crate::{BodyFraming, HeadError, HeadLimit, Method, Parsed, ResponseHead, parse_response};

fn answer(text: &str, request: &Method) -> Result<ResponseHead, HeadError> {
    match parse_response(&wire(text), HeadLimit::default(), request)? {
        Parsed::Complete { head, .. } => Ok(head),
        Parsed::Partial => panic!("the head has not ended"),
    }
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
fn what_is_not_http_is_refused() {
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
    fn a_response_does_not_depend_on_how_it_is_cut(
        status in 100..1000u16,
        reason in "[ -~]{0,20}",
        headers in plain_headers(),
    ) {
        let mut text = format!("HTTP/1.1 {status} {reason}\r\n");
        for (name, value) in &headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        let parse = |bytes: &[u8]| parse_response(bytes, HeadLimit::default(), &Method::Get);
        let (head, len) = complete(parse(text.as_bytes()));
        prop_assert_eq!((head.status, len), (status, text.len()));
        for cut in 0..text.len() {
            prop_assert_eq!(parse(&text.as_bytes()[..cut]), Ok(Parsed::Partial), "cut at {}", cut);
        }
        text.push_str("body");
        prop_assert_eq!(parse(text.as_bytes()), Ok(Parsed::Complete { head, len }));
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = parse_response(&bytes, HeadLimit::default(), &Method::Get);
    }

    #[test]
    fn no_mangled_response_panics(at in 0..60usize, byte in any::<u8>()) {
        let mut bytes = wire("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nConnection: x\n\n");
        if let Some(each) = bytes.get_mut(at) {
            *each = byte;
        }
        let _ = parse_response(&bytes, HeadLimit::default(), &Method::Get);
    }
}
