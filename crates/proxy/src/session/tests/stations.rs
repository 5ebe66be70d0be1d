//! The stations between upstream and client, one at a time: what a step does, and what is told.

use records::{BufferingMode, Bytes, SessionEnd, StepEnd};

use super::world::{Closed, World, limits};
use super::{GET, stuck};
use crate::policy::Stop;
use crate::session::Peer::{Client, Upstream};

/// Bytes of all pages of a session.
const MEMORY: usize = 9 * 4096;
/// Bytes that one write puts into its file.
const WRITE: usize = 2 * 4096;

fn spooling(file_max: u64) -> World {
    spooling_by("drain", file_max)
}

pub(super) fn spooling_by(policy: &str, file_max: u64) -> World {
    let mut limits = limits(policy.parse().expect("a policy"));
    limits.toggles.buffering = BufferingMode::On;
    limits.toggles.spool_max = Some(Bytes(file_max));
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
    assert_eq!((step.stop, step.hold.bytes), (stop, Bytes(90_000)));
    // Nine pages wait in memory, the head's among them; the rest is in the file.
    assert!((90_000 - MEMORY..90_000 - MEMORY + 2 * WRITE).contains(&world.disk().bytes.len()));
    // The head's page has what its head left of it.
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n".len();
    assert_eq!((world.disk().bytes.len() + head) % WRITE, 0);
    assert!(world.has_upstream());
    world.sends(Upstream, &body[90_000..]);
    assert!(!world.has_upstream(), "all was read");
    assert_eq!((world.end, body_of(&world).len()), (None, 0));
    world.client_room(20_000);
    assert!(body_of(&world) == body[..20_000]);
    world.client_room(1 << 40);
    assert!(body_of(&world) == body);
    assert_eq!(world.end, Some(SessionEnd::Completed));
    assert_eq!(world.record().body_bytes, Bytes(100_000));
}

#[test]
fn a_full_spool_ends_the_step_at_the_client_and_is_not_begun_anew() {
    let mut world = stuck(spooling(14_000), GET, 100_000);
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n".len();
    world.quietly(|world| world.sends(Upstream, &[b'a'; 80_000]));
    let step = world.one_step(Upstream);
    assert_eq!(step.stop, Stop::Blocked(StepEnd::DownstreamFull));
    // Pages go into it whole, two at a time while they fit, then one: a fourth does not.
    let file = 3 * 4096 - head;
    let done = (step.hold.bytes, world.disk().bytes.len());
    assert_eq!(done, (Bytes((MEMORY + file) as u64), file));
    // All of the file is taken, and its place stays taken; what finds no page waits at the upstream.
    let to_client = head + "Connection: close\r\n".len();
    world.client_room(to_client + file + WRITE);
    assert_eq!(world.disk().bytes.len(), file);
    assert_eq!(world.origin().to_session.len(), 80_000 - MEMORY - file - WRITE);
    world.client_room(1 << 40);
    world.sends(Upstream, &[b'b'; 20_000]);
    assert_eq!(world.end, Some(SessionEnd::Completed));
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
    assert_eq!((world.end, world.disk().files), (Some(SessionEnd::Completed), 0));
}

#[test]
fn an_upstream_that_breaks_leaves_the_client_what_was_spooled() {
    for how in [Closed::Fin, Closed::Rst] {
        let mut world = stuck(spooling(1 << 30), GET, 50_000);
        world.sends(Upstream, &[b'a'; 30_000]);
        world.closes(Upstream, how);
        assert_eq!(world.end, None, "the client has not taken all of it");
        world.client_room(1 << 40);
        assert_eq!(world.end, Some(SessionEnd::UpstreamClosedEarly));
        assert!(body_of(&world) == [b'a'; 30_000]);
    }
}

#[test]
fn a_client_that_takes_nothing_for_too_long_is_cut_with_a_file_as_without() {
    let mut world = stuck(spooling(1 << 30), GET, 30_000);
    world.sends(Upstream, &[b'a'; 30_000]);
    world.time_passes();
    assert_eq!(world.end, Some(SessionEnd::ClientTimeout));

    let mut world = stuck(spooling(1 << 30), GET, 30_000);
    world.sends(Upstream, &[b'a'; 20_000]);
    world.client_room(1 << 40);
    world.time_passes();
    assert_eq!(world.end, Some(SessionEnd::UpstreamTimeout), "now the upstream is waited for");
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
