use proptest::prelude::*;

use crate::{Answer, Body, BodyFraming, FramingError, State, Wanted};

/// Feeds `wire` in pieces of these sizes in turn. Returns the bytes taken and whether it ended.
fn feed(body: &mut Body, wire: &[u8], cuts: &[usize]) -> Result<(usize, bool), FramingError> {
    let mut taken = 0;
    let mut cuts = cuts.iter().copied().cycle();
    while taken < wire.len() && !body.is_done() {
        let size = cuts.next().unwrap_or(1).clamp(1, wire.len() - taken);
        let here = body.advance(&wire[taken..taken + size])?;
        assert!(here <= size, "more was taken than given");
        assert!(body.is_done() || here == size, "bytes were left though the body goes on");
        taken += here;
    }
    Ok((taken, body.is_done()))
}

fn chunked(wire: &str) -> Result<(usize, bool), FramingError> {
    feed(&mut Body::new(BodyFraming::Chunked), wire.as_bytes(), &[usize::MAX])
}

#[test]
fn bytes_that_nobody_saw_count_as_those_that_were_seen() {
    let mut body = Body::new(BodyFraming::Length(6));
    body.skip(4);
    assert_eq!((body.left(), body.payload(), body.is_done()), (Some(2), 4, false));
    assert_eq!(body.advance(b"56next"), Ok(2));
    assert!(body.is_done() && !body.ends_at_close());
    let mut endless = Body::new(BodyFraming::UntilClose);
    endless.skip(9);
    assert_eq!(endless.advance(&[0; 9]), Ok(9));
    assert_eq!((endless.left(), endless.payload(), endless.is_done()), (None, 18, false));
    assert!(endless.ends_at_close());
}

#[test]
fn chunks_may_have_extensions_and_trailers() {
    for wire in [
        "0\r\n\r\n",
        "000000000000000A\r\n0123456789\r\n0\r\n\r\n",
        "3;a=b;c=\"d e\"\r\nabc\r\n1 \t;x\r\nd\r\n0;last\r\nX: 1\r\nY:\r\n\r\n",
        "3 \r\na\r\n\r\n0\r\n\r\n",
    ] {
        assert_eq!(chunked(wire), Ok((wire.len(), true)), "{wire:?}");
        assert_eq!(chunked(&format!("{wire}0\r\n\r\n")), Ok((wire.len(), true)), "{wire:?}");
    }
}

#[test]
fn broken_chunks_are_refused() {
    for wire in [
        "\r\n",
        "g\r\n",
        "-1\r\n",
        "0x1\r\n",
        " 1\r\n",
        "1 1\r\n",
        "10000000000000000\r\n",
        "1\n",
        "1\rx",
        "1;a\n",
        "1;a\0\r\n",
        "1\r\naX\r\n",
        "1\r\na\n",
        "1\r\na\rX",
        "0\r\n\n",
        "0\r\nX: 1\n",
        "0\r\nX\r\r",
        "0\r\n\rX",
        // No line is endless.
        &format!("1;{}", "x".repeat(1025)),
        &format!("1{}", " ".repeat(1025)),
        &format!("0\r\n{}", "X: 1\r\n".repeat(2049)),
    ] {
        assert_eq!(chunked(wire), Err(FramingError), "{wire:?}");
    }
    assert_eq!(chunked(&format!("1;{}\r\n", "x".repeat(1000))), Ok((1004, false)));
}

#[test]
fn the_largest_chunk_does_not_overflow() {
    let mut body = Body::new(BodyFraming::Chunked);
    assert_eq!(body.advance(b"FFFFFFFFFFFFFFFF\r\nabc"), Ok(21));
    assert_eq!((body.payload(), body.is_done()), (3, false));
}

#[test]
fn an_answer_is_judged_as_soon_as_it_can_be() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    use State::{More, Overrun, Unwanted, Whole};
    let early = "HTTP/1.1 103 Early\r\nLink: x\r\n\r\n";
    for (wire, state, closed, payload) in [
        (format!("{HEAD}hello"), Whole, More, 5),
        (format!("{early}{HEAD}hello"), Whole, More, 5),
        (format!("{HEAD}hello more"), Overrun, More, 5),
        (format!("{HEAD}hell"), More, More, 4),
        (early.to_owned(), More, More, 0),
        ("HTTP/1.1 404 No\r\nContent-Length: 5\r\n\r\n".to_owned(), Unwanted, More, 0),
        ("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n".to_owned(), Unwanted, More, 0),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned(), Unwanted, More, 0),
        ("SSH-2.0\r\n".to_owned(), Unwanted, More, 0),
        ("HTTP/1.1 200 OK\r\n\r\nhello".to_owned(), More, Whole, 5),
        ("HTTP/1.1 200 OK\r\n\r\nhell".to_owned(), More, More, 4),
        ("HTTP/1.1 200 OK\r\n\r\nhello!".to_owned(), More, Unwanted, 6),
    ] {
        let wanted = Wanted { method: "GET".to_owned(), own: false, size: Some(5) };
        let (mut whole, mut cut) = (Answer::to(wanted.clone()), Answer::to(wanted));
        assert_eq!(whole.advance(wire.as_bytes()), state, "{wire:?}");
        assert_eq!((whole.closed(), whole.payload()), (closed, payload), "{wire:?}");
        // Byte by byte it is the same; only nobody sees what comes behind the end.
        let mut states = wire.bytes().map(|byte| cut.advance(&[byte]));
        let last = states.find(|state| *state != More).unwrap_or(More);
        assert_eq!(last, if state == Overrun { Whole } else { state }, "{wire:?}");
    }
}

/// A chunked body, and the number of content bytes in it.
fn encoded() -> impl Strategy<Value = (Vec<u8>, u64)> {
    let chunk = (prop::collection::vec(any::<u8>(), 1..200), "(;[a-z]{1,9}(=[a-z]{1,9})?)?");
    let trailer = prop::collection::vec("[A-Z]{1,9}: [ -~]{0,20}", 0..3);
    (prop::collection::vec(chunk, 0..8), trailer).prop_map(|(chunks, trailer)| {
        let mut wire = Vec::new();
        let mut content = 0;
        for (data, extension) in chunks {
            wire.extend(format!("{:x}{extension}\r\n", data.len()).bytes());
            wire.extend(&data);
            wire.extend(b"\r\n");
            content += data.len() as u64;
        }
        wire.extend(b"0\r\n");
        trailer.iter().for_each(|line| wire.extend(format!("{line}\r\n").bytes()));
        wire.extend(b"\r\n");
        (wire, content)
    })
}

fn cuts() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1..64usize, 1..12)
}

proptest! {
    #[test]
    fn chunks_end_where_they_end_however_cut(
        (wire, content) in encoded(),
        cuts in cuts(),
        extra in prop::collection::vec(any::<u8>(), 0..50),
    ) {
        let end = wire.len();
        let all: Vec<u8> = wire.into_iter().chain(extra).collect();
        for cuts in [&cuts[..], &[1], &[usize::MAX]] {
            let mut body = Body::new(BodyFraming::Chunked);
            prop_assert_eq!(feed(&mut body, &all, cuts), Ok((end, true)));
            prop_assert_eq!(body.payload(), content);
        }
        let mut body = Body::new(BodyFraming::Chunked);
        prop_assert_eq!(feed(&mut body, &all[..end - 1], &cuts), Ok((end - 1, false)));
    }

    #[test]
    fn a_length_ends_where_it_ends_however_cut(
        length in prop_oneof![Just(0), 0..2000usize],
        extra in 0..100usize,
        cuts in cuts(),
    ) {
        let mut body = Body::new(BodyFraming::Length(length as u64));
        let wire = vec![0; length + extra];
        prop_assert_eq!(feed(&mut body, &wire, &cuts), Ok((length, true)));
        prop_assert_eq!(body.payload(), length as u64);
    }

    #[test]
    fn junk_gives_the_same_error_however_cut(
        wire in prop::collection::vec(
            prop::sample::select(b"01aF;\r\n \t\0xZ".to_vec()), 0..200),
        cuts in cuts(),
    ) {
        let whole = feed(&mut Body::new(BodyFraming::Chunked), &wire, &[usize::MAX]);
        let cut = feed(&mut Body::new(BodyFraming::Chunked), &wire, &cuts);
        prop_assert_eq!(whole, cut);
    }
}
