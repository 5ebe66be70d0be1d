//! The stations between upstream and client, one at a time: what a step does, and what is told.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use records::{Bytes, ReadPolicy, SessionEnd, StepEnd};

use super::world::{World, limits};
use super::{GET, gunzipped, unchunked};
use crate::policy::Stop;
use crate::session::{Buffering, Peer};

/// Bytes of all pages of a session.
const MEMORY: usize = 9 * 4096;
/// Bytes that one write puts into its file.
const WRITE: usize = 2 * 4096;

const GZIP_GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n";

fn spooling(file_max: u64) -> World {
    spooling_by("drain", file_max)
}

fn spooling_by(policy: &str, file_max: u64) -> World {
    let mut limits = limits(policy.parse().expect("a policy"));
    limits.buffering = Some(Buffering { dir: "".into(), file_max: Bytes(file_max) });
    World::new(limits)
}

/// A session whose answer of `length` bytes has begun and whose client takes nothing more.
fn stuck(mut world: World, request: &[u8], length: usize) -> World {
    world.client_sends(request);
    world.connect_succeeds();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
    world.origin_sends(head.as_bytes());
    world.client_room(0);
    world
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
    world.quietly(|world| world.origin_sends(&body[..90_000]));
    let step = world.one_step(Peer::Upstream);
    let stop = Stop::Blocked(StepEnd::UpstreamEmpty);
    assert_eq!((step.stop, step.read.bytes), (stop, Bytes(90_000)));
    // Nine pages wait in memory, the head's among them; the rest is in the file.
    assert!((90_000 - MEMORY..90_000 - MEMORY + 2 * WRITE).contains(&world.disk().bytes.len()));
    assert_eq!(world.disk().bytes.len() % WRITE, 0);
    assert!(world.has_upstream());
    world.origin_sends(&body[90_000..]);
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
    world.quietly(|world| world.origin_sends(&[b'a'; 80_000]));
    let step = world.one_step(Peer::Upstream);
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
    world.origin_sends(&[b'b'; 20_000]);
    assert_eq!(world.end(), Some(SessionEnd::Completed));
    assert!(body_of(&world) == [[b'a'; 80_000].as_slice(), &[b'b'; 20_000]].concat());
}

#[test]
fn a_full_client_makes_a_step_without_an_end() {
    const BODY: usize = 16 << 20;
    let mut world = stuck(spooling_by("short-read", 1 << 30), GET, BODY);
    // The client could take all of it from now on, but nobody looks at the poll.
    world.quietly(|world| world.origin().more = BODY as u64 - 4096);
    let step = world.one_step(Peer::Upstream);
    assert!(step.read.bytes.0 >= BODY as u64 - 8192, "one step took {}", step.read.bytes);
    // Two pages a read, since that is what each write into the file frees.
    let reads = step.read.bytes.0 / WRITE as u64;
    assert!((reads..reads + 20).contains(&step.read.reads), "{} reads", step.read.reads);
}

#[test]
fn a_page_that_is_not_full_waits_unless_it_may_end_a_chunk() {
    for (framing, sent, arrives) in [
        ("Content-Length: 10000", b"some".as_slice(), 0),
        ("Transfer-Encoding: chunked", b"4\r\nsome\r\n", 9),
    ] {
        let mut world = spooling(1 << 30);
        world.client_sends(GET);
        world.connect_succeeds();
        world.origin_sends(format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n").as_bytes());
        world.origin_sends(sent);
        assert_eq!(body_of(&world).len(), arrives, "{framing}");
    }
}

#[test]
fn a_client_that_takes_all_needs_no_file() {
    let mut world = spooling(1 << 30);
    world.disk().refuses = true;
    world.client_sends(GET);
    world.connect_succeeds();
    world.origin_sends(b"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n");
    world.origin_sends(&[b'a'; 50_000]);
    assert_eq!((world.end(), world.disk().files), (Some(SessionEnd::Completed), 0));
}

#[test]
fn a_quota_counts_what_is_spooled_and_asks_for_another_turn() {
    let mut world = stuck(spooling_by("bytes:64KiB", 1 << 30), GET, 64 << 20);
    world.quietly(|world| world.origin().more = 8 << 20);
    for _ in 0..10 {
        let step = world.one_step(Peer::Upstream);
        assert_eq!(step.stop, Stop::Yield);
        let bytes = step.read.bytes;
        assert!((64 << 10..72 << 10).contains(&bytes.0), "one step took {bytes}");
    }
    assert!(world.disk().bytes.len() >= 10 * (64 << 10) - MEMORY);
}

#[test]
fn an_upstream_that_breaks_leaves_the_client_what_was_spooled() {
    for reset in [false, true] {
        let mut world = stuck(spooling(1 << 30), GET, 50_000);
        world.origin_sends(&[b'a'; 30_000]);
        if reset {
            world.origin_resets();
        } else {
            world.origin_closes();
        }
        assert_eq!(world.end(), None, "the client has not taken all of it");
        world.client_room(1 << 40);
        assert_eq!(world.end(), Some(SessionEnd::UpstreamClosedEarly));
        assert!(body_of(&world) == [b'a'; 30_000]);
    }
}

#[test]
fn a_client_that_takes_nothing_for_too_long_is_cut_with_a_file_as_without() {
    let mut world = stuck(spooling(1 << 30), GET, 30_000);
    world.origin_sends(&[b'a'; 30_000]);
    world.time_passes();
    assert_eq!(world.end(), Some(SessionEnd::ClientTimeout));

    let mut world = stuck(spooling(1 << 30), GET, 30_000);
    world.origin_sends(&[b'a'; 20_000]);
    world.client_room(1 << 40);
    world.time_passes();
    assert_eq!(world.end(), Some(SessionEnd::UpstreamTimeout), "now the upstream is waited for");
}

#[test]
fn trouble_with_the_file_ends_the_session_here() {
    type Fault = fn(&mut World);
    let faults: [Fault; 3] = [
        |world| world.disk().refuses = true,
        |world| world.disk().full_at = Some(9_000),
        |world| world.disk().broken_at = Some(0),
    ];
    for fault in faults {
        let mut world = stuck(spooling(1 << 30), GET, 100_000);
        fault(&mut world);
        world.origin_sends(&[b'a'; 100_000]);
        world.client_room(1 << 40);
        assert_eq!(world.end(), Some(SessionEnd::LocalError));
        let record = world.record();
        assert_eq!((record.status, record.body_bytes.0), (200, body_of(&world).len() as u64));
    }
}

#[test]
fn the_log_knows_when_the_upstream_was_done() {
    let mut world = stuck(spooling(1 << 30), GET, 30_000);
    world.origin_sends(&[b'a'; 30_000]);
    world.clock_moves(std::time::Duration::from_secs(7));
    world.client_room(1 << 40);
    let log = world.record().log;
    assert!(log.rt_ms >= 7_000 && log.urt_ms.is_some_and(|ms| ms < 1_000), "{log:?}");
}

fn compressing() -> World {
    let mut limits = limits(ReadPolicy::Drain);
    limits.toggles.gzip = Some(1);
    World::new(limits)
}

#[test]
fn who_asks_for_gzip_gets_it_in_chunks() {
    let mut world = stuck(compressing(), GZIP_GET, 1 << 20);
    world.client_room(1 << 40);
    world.origin_sends(&vec![b'a'; 1 << 20]);
    assert_eq!(world.end(), Some(SessionEnd::Completed));
    let head = world.client_text();
    assert!(head.contains("\r\nContent-Encoding: gzip\r\n"), "{head}");
    assert!(head.contains("\r\nTransfer-Encoding: chunked\r\n"));
    assert!(!head.contains("Content-Length"));
    let body = body_of(&world);
    assert!(body.len() < 100_000 && body.ends_with(b"\r\n0\r\n\r\n"));
    assert!(gunzipped(&unchunked(&body)) == vec![b'a'; 1 << 20]);
    assert_eq!(world.record().body_bytes.0, body.len() as u64);
}

#[test]
fn who_does_not_ask_gets_the_answer_as_it_came() {
    let mut world = stuck(compressing(), GET, 1000);
    world.client_room(1 << 40);
    world.origin_sends(&[b'a'; 1000]);
    assert_eq!((world.end(), body_of(&world)), (Some(SessionEnd::Completed), vec![b'a'; 1000]));
    assert!(world.client_text().contains("\r\nContent-Length: 1000\r\n"));
}

#[test]
fn a_step_has_no_end_while_what_comes_out_is_less_than_the_client_takes() {
    const BODY: usize = 64 << 20;
    let mut world = stuck(compressing(), GZIP_GET, BODY);
    // Room for 2 MiB: 64 MiB of dots do not fill it.
    world.quietly(|world| {
        world.client_room(2 << 20);
        world.origin().more = BODY as u64 - 4096;
    });
    let step = world.one_step(Peer::Upstream);
    assert_eq!(step.stop, Stop::Blocked(StepEnd::UpstreamEmpty));
    assert!(step.read.bytes.0 >= BODY as u64 - 8192, "one step took {}", step.read.bytes);
}

#[test]
fn a_compressed_answer_that_is_cut_has_all_that_came_and_no_end() {
    let mut world = stuck(compressing(), GZIP_GET, 50_000);
    world.client_room(1 << 40);
    world.origin_sends(&[b'a'; 30_000]);
    world.origin_resets();
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
    world.origin_sends(&noise);
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
