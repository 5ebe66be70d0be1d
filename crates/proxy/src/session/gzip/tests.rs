//! What comes out of the compressor is a gzip stream in chunks, whatever went in and how.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use http1::{Body, HeadLimit, Parsed, parse_request, parse_response};
use proptest::prelude::*;

use super::*;
use crate::session::tests::unchunked;

/// Feeds `parts`, one after the other, and takes all that comes out.
fn compressed(level: u32, parts: &[Vec<u8>], ending: Ending) -> Vec<u8> {
    let (first, rest) = parts.split_first().expect("a part");
    let mut gzip = Gzip::new(level, first.clone());
    let (mut out, mut sent) = (Buffer::default(), Vec::new());
    let mut drain = |gzip: &mut Gzip| {
        while gzip.compress(&mut out).expect("it compresses") == Compressed::Bytes {
            assert!(out.held().len() <= "1000\r\n\r\n".len() + OUTPUT + LAST_CHUNK.len());
            sent.extend_from_slice(out.held());
        }
    };
    drain(&mut gzip);
    for part in rest {
        gzip.input = Buffer::holding(part.clone());
        drain(&mut gzip);
    }
    assert!(gzip.end(ending));
    assert!(!gzip.end(Ending::Whole), "it ends once");
    drain(&mut gzip);
    drain(&mut gzip);
    sent
}

fn gunzipped(stream: &[u8]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    MultiGzDecoder::new(stream).read_to_end(&mut bytes).map(|_| bytes)
}

proptest! {
    #[test]
    fn whole_answers_come_out_whole(
        level in 1..=9u32,
        parts in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..20_000),
                (any::<u8>(), 0..60_000usize).prop_map(|(byte, len)| vec![byte; len]),
            ],
            1..5,
        ),
    ) {
        let sent = compressed(level, &parts, Ending::Whole);
        let mut body = Body::new(BodyFraming::Chunked);
        let end = body.advance(&sent).expect("chunks");
        prop_assert_eq!((end.take, end.done), (sent.len(), true), "it ends, and nothing follows");
        let bytes = gunzipped(&unchunked(&sent)).expect("a gzip stream");
        prop_assert!(bytes == parts.concat());
    }

    #[test]
    fn cut_answers_come_out_as_far_as_they_came_and_do_not_end(
        level in 1..=9u32,
        parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40_000), 1..4),
    ) {
        let sent = compressed(level, &parts, Ending::Cut);
        let mut body = Body::new(BodyFraming::Chunked);
        prop_assert!(!body.advance(&sent).expect("chunks").done);
        let mut bytes = Vec::new();
        // The error comes behind the last byte.
        let cut = MultiGzDecoder::new(&*unchunked(&sent)).read_to_end(&mut bytes);
        prop_assert!(cut.is_err());
        prop_assert!(bytes == parts.concat());
    }
}

fn request(text: &str) -> RequestHead {
    let text = text.replace('\n', "\r\n");
    match parse_request(text.as_bytes(), HeadLimit::default()) {
        Ok(Parsed::Complete { head, .. }) => head,
        other => panic!("{other:?}"),
    }
}

fn answer(text: &str) -> ResponseHead {
    let text = text.replace('\n', "\r\n");
    match parse_response(text.as_bytes(), HeadLimit::default(), &Method::Get) {
        Ok(Parsed::Complete { head, .. }) => head,
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_gets_it() {
    for (head, wanted) in [
        ("GET / HTTP/1.1\nHost: a\nAccept-Encoding: gzip\n\n", true),
        ("GET / HTTP/1.1\nHost: a\nAccept-Encoding: br, gzip;q=0.1\n\n", true),
        ("GET / HTTP/1.1\nHost: a\nAccept-Encoding: *\n\n", false),
        ("GET / HTTP/1.1\nHost: a\n\n", false),
        ("GET / HTTP/1.0\nHost: a\nAccept-Encoding: gzip\n\n", false),
        ("HEAD / HTTP/1.1\nHost: a\nAccept-Encoding: gzip\n\n", false),
        ("GET / HTTP/1.1\nHost: a\nAccept-Encoding: gzip\nVia: 1.1 b\n\n", false),
    ] {
        assert_eq!(is_wanted(&request(head)), wanted, "{head}");
    }
}

#[test]
fn what_is_compressed() {
    for (head, fit) in [
        ("HTTP/1.1 200 OK\nContent-Length: 20\n\n", true),
        ("HTTP/1.1 200 OK\n\n", true),
        ("HTTP/1.1 404 Not Found\nContent-Length: 2000\nContent-Encoding:\n\n", true),
        ("HTTP/1.1 200 OK\nContent-Length: 19\n\n", false),
        ("HTTP/1.1 206 Partial Content\nContent-Length: 2000\n\n", false),
        ("HTTP/1.1 200 OK\nContent-Length: 2000\nContent-Encoding: br\n\n", false),
        ("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n", false),
        ("HTTP/1.1 204 No Content\n\n", false),
    ] {
        assert_eq!(is_fit(&answer(head)), fit, "{head}");
    }
}
