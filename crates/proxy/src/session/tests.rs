//! The session without a network: its answers, what ends its steps, and a seeded simulation.

mod simulation;
mod stations;
mod world;

use std::time::Duration;

use records::{Accepted, Hold, Micros, MonoNs, SessionEnd, StepEnd};

use super::Peer::{Client, Upstream};
use super::log::Log;
use crate::policy::Stop;
use world::{Closed, World};

const GET: &[u8] = b"GET /bytes/5 HTTP/1.1\r\nHost: turnstile\r\n\r\n";

/// A session whose request has come and whose upstream connection stands.
fn asked(policy: &str) -> World {
    let mut world = World::by(policy);
    world.sends(Client, GET);
    world.connect_succeeds();
    world
}

/// A session whose answer of `length` bytes has begun.
fn begun(mut world: World, request: &[u8], length: usize) -> World {
    world.sends(Client, request);
    world.connect_succeeds();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
    world.sends(Upstream, head.as_bytes());
    world
}

/// The same, and its client takes nothing more.
fn stuck(world: World, request: &[u8], length: usize) -> World {
    let mut world = begun(world, request, length);
    world.client_room(0);
    world
}

/// A session that has refused a client's request, which goes on.
fn refused(policy: &str) -> World {
    let mut world = World::by(policy);
    world.quietly(|world| {
        world.sends(Client, &[b"junk\r\n\r\n".as_slice(), &[b'x'; 20_000]].concat());
    });
    world.run();
    world
}

/// What happens in a session's life.
#[derive(Clone, Copy)]
enum Act {
    /// The client asks.
    Asks,
    /// It says this.
    Says(&'static [u8]),
    Leaves,
    /// The handshake with the origin succeeds.
    Connects,
    Refuses,
    /// The origin sends this.
    Answers(&'static [u8]),
    Closes,
    Resets,
    /// Nothing happens until the session's deadline.
    TimePasses,
}

fn play(script: &[Act]) -> World {
    let mut world = World::by("drain");
    for act in script {
        match *act {
            Act::Asks => world.sends(Client, GET),
            Act::Says(bytes) => world.sends(Client, bytes),
            Act::Leaves => world.closes(Client, Closed::Fin),
            Act::Connects => world.connect_succeeds(),
            Act::Refuses => world.connect_fails(),
            Act::Answers(bytes) => world.sends(Upstream, bytes),
            Act::Closes => world.closes(Upstream, Closed::Fin),
            Act::Resets => world.closes(Upstream, Closed::Rst),
            Act::TimePasses => world.time_passes(),
        }
    }
    world
}

#[test]
fn every_life_has_its_end_its_status_and_its_bytes() {
    use Act::{Answers, Asks, Closes, Connects, Leaves, Refuses, Resets, Says, TimePasses};
    use SessionEnd as E;
    const TWO: &[u8] = b"GET /5 HTTP/1.1\r\nHost: a\r\n\r\nGET /5 HTTP/1.1\r\nHost: a\r\n\r\n";
    const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    const PART: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe";
    const TOO_MUCH: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and then some";
    const LENGTH_TWICE: &[u8] =
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n";
    const POST: &[u8] = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
    let cases: [(&[Act], SessionEnd, u16, u64); 21] = [
        (&[Asks, Connects, Answers(OK)], E::Completed, 200, 5),
        (&[Asks, Connects, Answers(TOO_MUCH)], E::Completed, 200, 5),
        // One request a connection is served.
        (&[Says(TWO), Connects, Answers(OK), Leaves], E::Completed, 200, 5),
        // An answer that is cut keeps its status, and says who cut it.
        (&[Asks, Connects, Answers(PART), Leaves], E::ClientClosed, 200, 2),
        (&[Asks, Connects, Answers(PART), Closes], E::UpstreamClosedEarly, 200, 2),
        (&[Asks, Connects, Answers(PART), Resets], E::UpstreamClosedEarly, 200, 2),
        (&[Asks, Leaves], E::ClientClosed, 499, 0),
        (&[Says(b"\x16\x03\x01\x00\xff\xff garbage\r\n\r\n"), Leaves], E::BadRequest, 400, 16),
        (&[Says(b"GET / HTTP/1.1\r\n\r\n"), Leaves], E::BadRequest, 400, 16),
        (&[Says(LENGTH_TWICE), Leaves], E::BadRequest, 400, 16),
        (&[Says(b"GET / HTTP/9.9\r\nHost: a\r\n\r\n"), Leaves], E::BadRequest, 505, 31),
        (&[Says(POST), Leaves], E::BadRequest, 413, 22),
        (&[Says(&[b'a'; 9000]), Leaves], E::BadRequest, 431, 36),
        (&[Asks, Refuses], E::UpstreamUnreachable, 502, 16),
        (&[Asks, TimePasses], E::UpstreamTimeout, 504, 20),
        (&[Asks, Connects, TimePasses], E::UpstreamTimeout, 504, 20),
        (&[Asks, Connects, Answers(b"HTTP/1.1 2"), Closes], E::UpstreamClosedEarly, 502, 16),
        (&[Asks, Connects, Resets], E::UpstreamClosedEarly, 502, 16),
        (&[Asks, Connects, Answers(b"not HTTP\r\n\r\n")], E::UpstreamBadHead, 502, 16),
        // A silent client is closed without a word, and a slow one is told.
        (&[TimePasses], E::ClientTimeout, 0, 0),
        (&[Says(b"GET / HT"), TimePasses], E::ClientTimeout, 408, 20),
    ];
    for (at, (script, end, status, bytes)) in cases.into_iter().enumerate() {
        let world = play(script);
        let record = world.record();
        assert_eq!((world.end, record.status), (Some(end), status), "case {at}");
        assert_eq!(record.body_bytes.0, bytes, "case {at}: {:?}", world.client_text());
        let answers = world.client_text().matches("HTTP/1.1 ").count();
        assert_eq!(answers, usize::from(![0, 499].contains(&status)), "case {at}");
        if answers > 0 {
            assert!(world.client_text().starts_with(&format!("HTTP/1.1 {status} ")), "case {at}");
        }
        if end == E::Completed {
            assert!(world.client().got.ends_with(b"\r\n\r\nhello"), "case {at}");
            assert!(world.origin().got.starts_with(b"GET /"), "case {at}");
            assert!(world.origin().got.windows(8).any(|part| part == b"HTTP/1.0"), "case {at}");
        }
        if end == E::BadRequest {
            assert!(world.origin().got.is_empty(), "case {at}");
        }
    }
}

#[test]
fn a_client_that_had_closed_before_it_was_served_is_499_with_rt_zero() {
    let mut world = World::by("drain");
    world.quietly(|world| {
        world.sends(Client, GET);
        world.closes(Client, Closed::Fin);
    });
    world.run();
    assert_eq!(world.end, Some(SessionEnd::ClientClosed));
    let record = world.record();
    assert_eq!(record.status, 499);
    assert_eq!(record.log.rt_ms, 0, "the worker's clock stood still");
    assert_eq!((record.log.uct_ms, record.log.uht_ms), (None, None));
    assert_eq!(record.log.urt_ms, Some(0), "the upstream connect had begun, as in nginx");
    assert!(world.client().got.is_empty());
}

#[test]
fn an_answer_of_our_own_has_the_time_that_a_client_is_given() {
    const MINUTE: Duration = Duration::from_secs(60);
    type Late = fn(&mut World);
    let cases: [(u16, Late); 2] = [
        (408, |world| world.sends(Client, b"GET / HT")),
        (504, |world| {
            world.sends(Client, GET);
            world.connect_succeeds();
        }),
    ];
    for (status, late) in cases {
        let mut world = World::by("drain");
        late(&mut world);
        world.client_room(0);
        world.time_passes();
        assert_eq!((world.end, world.time_left()), (None, MINUTE), "{status}");
        // A slow client has as much for each piece.
        world.clock_moves(Duration::from_secs(59));
        world.client_room(10);
        assert_eq!((world.end, world.time_left()), (None, MINUTE), "{status}");
        world.client_room(1 << 40);
        assert!(world.end.is_some());
        assert!(world.client_text().starts_with(&format!("HTTP/1.1 {status} ")));
    }
}

#[test]
fn a_head_that_drips_in_puts_nothing_off_and_a_body_does() {
    const SECONDS: fn(u64) -> Duration = Duration::from_secs;
    let mut world = asked("drain");
    let before = world.time_left();
    world.clock_moves(SECONDS(20));
    world.sends(Upstream, b"HTTP/1.1 200 OK\r\n");
    assert!(world.time_left() < before - SECONDS(20), "one deadline for the head");
    world.sends(Upstream, b"Content-Length: 10\r\n\r\n");
    world.clock_moves(SECONDS(20));
    world.sends(Upstream, b"hel");
    assert_eq!(world.time_left(), SECONDS(60));
}

#[test]
fn a_client_that_goes_on_talking_is_lingered_over_for_thirty_seconds() {
    let mut world = refused("drain");
    // The answer is not to be reset under the client.
    assert!(world.client_text().starts_with("HTTP/1.1 400 "));
    assert!(world.client().fin_sent);
    for _ in 0..7 {
        assert_eq!((world.end, world.time_left()), (None, Duration::from_secs(5)));
        world.clock_moves(Duration::from_secs(4));
        world.sends(Client, b"more");
    }
    assert!(world.time_left() < Duration::from_secs(3), "28 of 30 are over");
    world.time_passes();
    assert_eq!(world.end, Some(SessionEnd::BadRequest));

    let mut world = refused("drain");
    world.closes(Client, Closed::Fin);
    assert_eq!(world.end, Some(SessionEnd::BadRequest), "it has waited for that");
}

#[test]
fn what_a_client_floods_us_with_ends_by_the_policy_as_any_read() {
    const EMPTY: Stop = Stop::Blocked(StepEnd::DownstreamEmpty);
    for (policy, stop) in
        [("drain", EMPTY), ("short-read", EMPTY), ("fionread", EMPTY), ("reads:16", Stop::Yield)]
    {
        let mut world = refused(policy);
        world.client().more = 1 << 20;
        assert_eq!(world.one_step(Client).stop, stop, "{policy}");
    }
}

#[test]
fn while_the_upstream_is_ahead_only_a_quota_ends_a_step() {
    const BODY: usize = 16 << 20;
    let kinds: [fn(&str) -> World; 2] = [
        |policy| begun(World::by(policy), GET, BODY),
        // Its client takes nothing, and would at the next poll.
        |policy| stuck(stations::spooling_by(policy, 1 << 30), GET, BODY),
    ];
    for (at, kind) in kinds.into_iter().enumerate() {
        for policy in ["drain", "short-read"] {
            let mut world = kind(policy);
            world.origin().more = BODY as u64 - 4096;
            let step = world.one_step(Upstream);
            assert!(matches!(step.stop, Stop::Blocked(_)), "{at} {policy}: {:?}", step.stop);
            assert!(step.hold.bytes.0 >= BODY as u64 - 8192, "{at} {policy}: {}", step.hold.bytes);
        }
        let mut world = kind("bytes:64KiB");
        world.origin().more = BODY as u64 / 2;
        for _ in 0..10 {
            let step = world.one_step(Upstream);
            let bytes = step.hold.bytes.0;
            assert_eq!(step.stop, Stop::Yield, "{at}");
            assert!((64 << 10..72 << 10).contains(&bytes), "{at}: one step took {bytes}");
        }
    }
}

#[test]
fn a_step_without_an_end_ends_with_the_proxy_and_tells_what_it_did() {
    let flooded = refused("drain");
    flooded.client().more = 1 << 40;
    let relaying = begun(World::by("drain"), GET, 64 << 20);
    relaying.origin().more = 60 << 20;
    for (mut world, peer, reads) in [(flooded, Client, 0), (relaying, Upstream, 100)] {
        world.ends_after(100);
        let step = world.one_step(peer);
        assert_eq!(step.stop, Stop::Close(SessionEnd::Shutdown));
        assert_eq!((step.hold.reads, step.hold.bytes.0), (reads, reads * 4096));
    }
}

/// Calls of read on the origin's connection and of write on the client's, so far.
fn calls(world: &World) -> (usize, usize) {
    (world.origin().reads, world.client().writes)
}

#[test]
fn a_short_write_is_the_last_call_of_its_step() {
    let mut world = begun(World::by("drain"), GET, 64 << 20);
    world.client_room(6000);
    let before = calls(&world);
    world.origin().more = 1 << 20;
    let step = world.one_step(Upstream);
    assert_eq!((step.stop, step.hold.bytes.0), (Stop::Blocked(StepEnd::DownstreamFull), 8192));
    let (reads, writes) = calls(&world);
    assert_eq!((reads - before.0, writes - before.1), (2, 2), "the second write was short");
    let sent = world.client().got.len();
    world.client_room(10_000);
    assert_eq!(world.client().got.len() - sent, 10_000, "it goes on at the next event");
}

#[test]
fn a_quota_that_is_used_up_by_the_head_ends_that_step() {
    for policy in ["reads:1", "bytes:1KiB"] {
        let mut world = asked(policy);
        world.quietly(|world| {
            world.sends(Upstream, b"HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\n");
            world.origin().more = 1 << 20;
        });
        let step = world.one_step(Upstream);
        assert_eq!((step.hold.reads, step.stop), (1, Stop::Yield));
        assert!(world.client_text().starts_with("HTTP/1.1 200 OK"), "what was read is handed on");
    }
}

#[test]
fn steps_are_summed_below_the_microsecond() {
    let mut log = Log::new(&Accepted::default());
    for start in 0..1_000 {
        let (start_ns, end_ns) = (MonoNs(start * 2_000), MonoNs(start * 2_000 + 1_700));
        log.count_step(&Hold { start_ns, end_ns, ..Hold::default() });
    }
    let told = log.record(SessionEnd::Completed, MonoNs(0), 0);
    assert_eq!(
        (told.steps, told.steps_us, told.longest_step_us),
        (1_000, Micros(1_700), Micros(1))
    );
}

#[test]
fn stalls_add_up_by_what_the_step_before_lacked() {
    use StepEnd as E;
    // Start and end of each step, in microseconds.
    let waits = [
        (0, 10, E::UpstreamEmpty),
        (3_010, 3_020, E::DownstreamFull),
        (5_020, 5_030, E::ShortRead),
        (6_030, 6_040, E::UpstreamEmpty),
        // Too short for a stall.
        (7_039, 7_050, E::Quota),
        (9_050, 9_060, E::Fionread),
        (11_060, 11_070, E::Closed),
    ];
    // A head that came in a later step, or never: what was before it was waiting for the head.
    for (head, upstream, client) in [(Some(5), 4_000, 2_000), (Some(5_025), 1_000, 0), (None, 0, 0)]
    {
        let mut log = Log::new(&Accepted::default());
        if let Some(head) = head {
            log.head_complete(MonoNs(head * 1_000), 0);
        }
        for (start, end, ended_by) in waits {
            let (start_ns, end_ns) = (MonoNs(start * 1_000), MonoNs(end * 1_000));
            log.count_step(&Hold { start_ns, end_ns, ended_by, ..Hold::default() });
        }
        let steps = log.record(SessionEnd::Completed, MonoNs(0), 0);
        let stalled = (steps.stalled_upstream_us, steps.stalled_client_us);
        assert_eq!(stalled, (Micros(upstream), Micros(client)), "{head:?}");
        assert_eq!(steps.steps_us, Micros(71));
    }
}
