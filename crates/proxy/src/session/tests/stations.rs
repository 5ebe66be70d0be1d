//! The stations between upstream and client, one at a time: what a step does, and what is told.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use http1::{
    Body, BodyFraming, HeadLimit, Method, Parsed, RequestHead, ResponseHead, parse_request,
    parse_response,
};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use records::{Bytes, SessionEnd, StepEnd};
use testkit::unchunked;

use super::world::{Closed, World, limits};
use super::{GET, GZIP_GET, gunzipped, stuck};
use crate::policy::Stop;
use crate::session::Buffering;
use crate::session::Peer::{Client, Upstream};
use crate::session::connection::Buffer;
use crate::session::gzip::{Compressed, Ending, Gzip, LAST_CHUNK, OUTPUT, is_fit, is_wanted};

/// Bytes of all pages of a session.
const MEMORY: usize = 9 * 4096;
/// Bytes that one write puts into its file.
const WRITE: usize = 2 * 4096;

fn spooling(file_max: u64) -> World {
    spooling_by("drain", file_max)
}

pub(super) fn spooling_by(policy: &str, file_max: u64) -> World {
    let mut limits = limits(policy.parse().expect("a policy"));
    limits.buffering = Some(Buffering { dir: "".into(), file_max: Bytes(file_max) });
    World::new(limits)
}

fn compressing() -> World {
    compressing_by("drain")
}

pub(super) fn compressing_by(policy: &str) -> World {
    let mut limits = limits(policy.parse().expect("a policy"));
    limits.toggles.gzip = Some(1);
    World::new(limits)
}

fn body_of(world: &World) -> Vec<u8> {
    let got = world.client().got.clone();
    let head = got.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    got[head + 4..].to_vec()
}

#[test]
fn what_a_client_does_not_take_is_spooled_and_the_upstream_let_go() {
    let body: Vec<u8> = (0..=250u8).cycle().take(100_000).collect();
    let mut world = stuck(spooling(1 << 30), GET, body.len());
    world.quietly(|world| world.sends(Upstream, &body[..90_000]));
    let step = world.one_step(Upstream);
    let stop = Stop::Blocked(StepEnd::UpstreamEmpty);
    assert_eq!((step.stop, step.read.bytes), (stop, Bytes(90_000)));
    // Nine pages wait in memory, the head's among them; the rest is in the file.
    assert!((90_000 - MEMORY..90_000 - MEMORY + 2 * WRITE).contains(&world.disk().bytes.len()));
    assert_eq!(world.disk().bytes.len() % WRITE, 0);
    assert!(world.has_upstream());
    world.sends(Upstream, &body[90_000..]);
    assert!(!world.has_upstream(), "all was read");
    assert_eq!((world.end(), body_of(&world).len()), (None, 0));
    world.client_room(20_000);
    assert!(body_of(&world) == body[..20_000]);
    world.client_room(1 << 40);
    assert!(body_of(&world) == body);
    assert_eq!(world.end(), Some(SessionEnd::Completed));
    assert_eq!(world.record().body_bytes, Bytes(100_000));
}

#[test]
fn a_full_spool_ends_the_step_at_the_client_and_is_not_begun_anew() {
    let mut world = stuck(spooling(10_000), GET, 100_000);
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n".len();
    world.quietly(|world| world.sends(Upstream, &[b'a'; 80_000]));
    let step = world.one_step(Upstream);
    assert_eq!(step.stop, Stop::Blocked(StepEnd::DownstreamFull));
    // Pages go into it whole: a third one does not fit.
    assert_eq!(
        (step.read.bytes, world.disk().bytes.len()),
        (Bytes((MEMORY + WRITE - head) as u64), WRITE)
    );
    // All of the file is taken, and its place stays taken; what finds no page waits at the upstream.
    world.client_room(2 * WRITE - head);
    assert_eq!(world.disk().bytes.len(), WRITE);
    assert_eq!(world.origin().to_session.len(), 80_000 - MEMORY - 2 * WRITE + head);
    world.client_room(1 << 40);
    world.sends(Upstream, &[b'b'; 20_000]);
    assert_eq!(world.end(), Some(SessionEnd::Completed));
    assert!(body_of(&world) == [[b'a'; 80_000].as_slice(), &[b'b'; 20_000]].concat());
}

#[test]
fn a_page_that_is_not_full_waits_unless_it_may_end_a_chunk() {
    for (framing, sent, arrives) in [
        ("Content-Length: 10000", b"some".as_slice(), 0),
        ("Transfer-Encoding: chunked", b"4\r\nsome\r\n", 9),
    ] {
        let mut world = spooling(1 << 30);
        world.sends(Client, GET);
        world.connect_succeeds();
        world.sends(Upstream, format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n").as_bytes());
        world.sends(Upstream, sent);
        assert_eq!(body_of(&world).len(), arrives, "{framing}");
    }
}

#[test]
fn a_client_that_takes_all_needs_no_file() {
    let mut world = spooling(1 << 30);
    world.disk().refuses = true;
    world.sends(Client, GET);
    world.connect_succeeds();
    world.sends(Upstream, b"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n");
    world.sends(Upstream, &[b'a'; 50_000]);
    assert_eq!((world.end(), world.disk().files), (Some(SessionEnd::Completed), 0));
}

#[test]
fn an_upstream_that_breaks_leaves_the_client_what_was_spooled() {
    for how in [Closed::Fin, Closed::Rst] {
        let mut world = stuck(spooling(1 << 30), GET, 50_000);
        world.sends(Upstream, &[b'a'; 30_000]);
        world.closes(Upstream, how);
        assert_eq!(world.end(), None, "the client has not taken all of it");
        world.client_room(1 << 40);
        assert_eq!(world.end(), Some(SessionEnd::UpstreamClosedEarly));
        assert!(body_of(&world) == [b'a'; 30_000]);
    }
}

#[test]
fn a_client_that_takes_nothing_for_too_long_is_cut_with_a_file_as_without() {
    let mut world = stuck(spooling(1 << 30), GET, 30_000);
    world.sends(Upstream, &[b'a'; 30_000]);
    world.time_passes();
    assert_eq!(world.end(), Some(SessionEnd::ClientTimeout));

    let mut world = stuck(spooling(1 << 30), GET, 30_000);
    world.sends(Upstream, &[b'a'; 20_000]);
    world.client_room(1 << 40);
    world.time_passes();
    assert_eq!(world.end(), Some(SessionEnd::UpstreamTimeout), "now the upstream is waited for");
}

#[test]
fn the_log_knows_when_the_upstream_was_done() {
    let mut world = stuck(spooling(1 << 30), GET, 30_000);
    world.sends(Upstream, &[b'a'; 30_000]);
    world.clock_moves(std::time::Duration::from_secs(7));
    world.client_room(1 << 40);
    let log = world.record().log;
    assert!(log.rt_ms >= 7_000 && log.urt_ms.is_some_and(|ms| ms < 1_000), "{log:?}");
}

#[test]
fn who_does_not_ask_gets_the_answer_as_it_came() {
    let mut world = stuck(compressing(), GET, 1000);
    world.client_room(1 << 40);
    world.sends(Upstream, &[b'a'; 1000]);
    assert_eq!((world.end(), body_of(&world)), (Some(SessionEnd::Completed), vec![b'a'; 1000]));
    assert!(world.client_text().contains("\r\nContent-Length: 1000\r\n"));
}

#[test]
fn a_compressed_answer_that_is_cut_has_all_that_came_and_no_end() {
    let mut world = stuck(compressing(), GZIP_GET, 50_000);
    world.client_room(1 << 40);
    world.sends(Upstream, &[b'a'; 30_000]);
    world.closes(Upstream, Closed::Rst);
    assert_eq!(world.end(), Some(SessionEnd::UpstreamClosedEarly));
    let body = body_of(&world);
    assert!(gunzipped(&unchunked(&body)) == [b'a'; 30_000]);
    assert!(!body.ends_with(b"0\r\n\r\n"), "the client must see that it is cut");
}

#[test]
fn what_is_compressed_waits_for_the_client_before_more_is_read() {
    let mut world = stuck(compressing(), GZIP_GET, 1 << 20);
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let noise: Vec<u8> = (0..1 << 20).map(|_| rng.random()).collect();
    world.sends(Upstream, &noise);
    // What it holds before it has to give out some, and one read more.
    assert!(
        world.origin().to_session.len() > noise.len() - (256 << 10),
        "{}",
        world.origin().to_session.len()
    );
    world.client_room(1 << 40);
    assert_eq!(world.end(), Some(SessionEnd::Completed));
    assert!(gunzipped(&unchunked(&body_of(&world))) == noise);
}

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
        prop_assert!(gunzipped(&unchunked(&sent)) == parts.concat());
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
