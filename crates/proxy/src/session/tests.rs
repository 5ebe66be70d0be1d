//! The session without a network: its answers, what ends its steps, and a seeded simulation.

mod simulation;
mod stations;
mod world;

use std::io::Read as _;
use std::time::Duration;

use records::{ReadPolicy, SessionEnd, StepEnd};

use super::Peer;
use crate::policy::Stop;
use world::{World, limits};

/// The data of as many chunks as there are, the last of them maybe cut.
pub(super) fn unchunked(mut wire: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    while let Some(line) = wire.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&wire[..line]).expect("a size is text");
        let size = usize::from_str_radix(size, 16).expect("a size is hexadecimal");
        wire = &wire[line + 2..];
        data.extend_from_slice(&wire[..size.min(wire.len())]);
        wire = wire.get(size + 2..).unwrap_or_default();
    }
    data
}

/// As much as can be told of what was compressed: all of it, unless the stream was cut.
fn gunzipped(stream: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What comes before an error is kept.
    let _ = flate2::read::GzDecoder::new(stream).read_to_end(&mut bytes);
    bytes
}

const GET: &[u8] = b"GET /bytes/5 HTTP/1.1\r\nHost: turnstile\r\n\r\n";

fn drained() -> World {
    World::new(limits(ReadPolicy::Drain))
}

/// A session whose request has come and whose upstream connection stands.
fn asked(policy: &str) -> World {
    let mut world = World::new(limits(policy.parse().expect("a policy")));
    world.client_sends(GET);
    world.connect_succeeds();
    world
}

/// A session that has refused a client's request, which goes on.
fn refused(policy: &str) -> World {
    let mut world = World::new(limits(policy.parse().expect("a policy")));
    world.quietly(|world| {
        world.client_sends(&[b"junk\r\n\r\n".as_slice(), &[b'x'; 20_000]].concat());
    });
    world.run();
    world
}

#[test]
fn a_request_goes_all_the_way() {
    let mut world = asked("drain");
    world.origin_sends(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    assert_eq!(world.end(), Some(SessionEnd::Completed));
    assert!(world.client().got.ends_with(b"\r\n\r\nhello"), "{:?}", world.client_text());
    let sent_up = String::from_utf8(world.origin().got.clone()).expect("a request is text");
    assert!(sent_up.starts_with("GET /bytes/5 HTTP/1.0\r\n"), "{sent_up}");
    let record = world.record();
    assert_eq!((record.status, record.body_bytes.0), (200, 5));
}

#[test]
fn a_client_that_had_closed_before_it_was_served_is_499_with_rt_zero() {
    let mut world = drained();
    world.quietly(|world| {
        world.client_sends(GET);
        world.client_closes();
    });
    world.run();
    assert_eq!(world.end(), Some(SessionEnd::ClientClosed));
    let record = world.record();
    assert_eq!(record.status, 499);
    assert_eq!(record.log.rt_ms, 0, "the worker's clock stood still");
    assert_eq!((record.log.uct_ms, record.log.uht_ms), (None, None));
    assert_eq!(record.log.urt_ms, Some(0), "the upstream connect had begun, as in nginx");
    assert!(world.client().got.is_empty());
}

#[test]
fn what_is_no_request_is_refused() {
    let long = [b"GET / HTTP/1.1\r\nX: ".as_slice(), &[b'a'; 9000]].concat();
    for (request, status) in [
        (b"\x16\x03\x01\x00\xff\xff garbage\r\n\r\n".as_slice(), 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", 413),
        (
            b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
            400,
        ),
        (&long, 431),
    ] {
        let mut world = drained();
        world.client_sends(request);
        world.client_closes();
        assert_eq!(world.record().status, status, "{}", String::from_utf8_lossy(request));
        assert!(world.client_text().starts_with(&format!("HTTP/1.1 {status} ")));
        assert_eq!(world.end(), Some(SessionEnd::BadRequest));
        assert!(world.origin().got.is_empty());
    }
}

#[test]
fn a_request_byte_by_byte_and_a_second_one_in_the_same_segment() {
    let mut world = drained();
    for byte in GET {
        world.client_sends(&[*byte]);
    }
    assert!(world.is_dialed(), "a request may come in as many pieces as it likes");

    let mut world = drained();
    world.client_sends(&[GET, GET].concat());
    world.connect_succeeds();
    world.origin_sends(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    assert_eq!(world.end(), Some(SessionEnd::Completed));
    let answers = world.client_text().matches("HTTP/1.1 200").count();
    assert_eq!(answers, 1, "one request a connection is served");
}

#[test]
fn upstreams_at_fault_are_502_and_504() {
    type Fault = fn(&mut World);
    let cases: [(&str, Fault, SessionEnd, u16); 6] = [
        ("refused", World::connect_fails, SessionEnd::UpstreamUnreachable, 502),
        ("never connects", World::time_passes, SessionEnd::UpstreamTimeout, 504),
        (
            "never answers",
            |world| {
                world.connect_succeeds();
                world.time_passes();
            },
            SessionEnd::UpstreamTimeout,
            504,
        ),
        (
            "closes inside its head",
            |world| {
                world.connect_succeeds();
                world.origin_sends(b"HTTP/1.1 200 OK\r\nContent-");
                world.origin_closes();
            },
            SessionEnd::UpstreamClosedEarly,
            502,
        ),
        (
            "resets",
            |world| {
                world.connect_succeeds();
                world.origin_resets();
            },
            SessionEnd::UpstreamClosedEarly,
            502,
        ),
        (
            "garbage",
            |world| {
                world.connect_succeeds();
                world.origin_sends(b"hello, this is not HTTP\r\n\r\n");
            },
            SessionEnd::UpstreamBadHead,
            502,
        ),
    ];
    for (name, fault, end, status) in cases {
        let mut world = drained();
        world.client_sends(GET);
        fault(&mut world);
        assert_eq!((world.end(), world.record().status), (Some(end), status), "{name}");
        assert!(world.client_text().starts_with(&format!("HTTP/1.1 {status} ")), "{name}");
    }
}

#[test]
fn an_answer_that_is_cut_keeps_its_status_and_says_who_cut_it() {
    type Cut = fn(&mut World);
    let cases: [(Cut, SessionEnd); 3] = [
        (World::client_closes, SessionEnd::ClientClosed),
        (World::origin_closes, SessionEnd::UpstreamClosedEarly),
        (World::origin_resets, SessionEnd::UpstreamClosedEarly),
    ];
    for (cut, end) in cases {
        let mut world = asked("drain");
        world.origin_sends(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe");
        cut(&mut world);
        let record = world.record();
        assert_eq!((world.end(), record.status, record.body_bytes.0), (Some(end), 200, 2));
    }
}

#[test]
fn what_an_upstream_sends_too_much_is_dropped() {
    let mut world = asked("drain");
    world.origin_sends(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and then some");
    assert_eq!(world.end(), Some(SessionEnd::Completed));
    assert!(world.client().got.ends_with(b"\r\n\r\nhello"));
}

#[test]
fn a_silent_client_is_closed_without_a_word_and_a_slow_one_gets_408() {
    let mut world = drained();
    world.time_passes();
    assert_eq!((world.end(), world.record().status), (Some(SessionEnd::ClientTimeout), 0));

    let mut world = drained();
    world.client_sends(b"GET / HT");
    world.time_passes();
    assert_eq!((world.end(), world.record().status), (Some(SessionEnd::ClientTimeout), 408));
    assert!(world.client_text().starts_with("HTTP/1.1 408 "));
}

#[test]
fn an_answer_of_our_own_has_the_time_that_a_client_is_given() {
    const MINUTE: Duration = Duration::from_secs(60);
    type Late = fn(&mut World);
    let cases: [(u16, Late); 2] = [
        (408, |world| world.client_sends(b"GET / HT")),
        (504, |world| {
            world.client_sends(GET);
            world.connect_succeeds();
        }),
    ];
    for (status, late) in cases {
        let mut world = drained();
        late(&mut world);
        world.client_room(0);
        world.time_passes();
        assert_eq!((world.end(), world.time_left()), (None, MINUTE), "{status}");
        // A slow client has as much for each piece.
        world.clock_moves(Duration::from_secs(59));
        world.client_room(10);
        assert_eq!((world.end(), world.time_left()), (None, MINUTE), "{status}");
        world.client_room(1 << 40);
        assert!(world.end().is_some());
        assert!(world.client_text().starts_with(&format!("HTTP/1.1 {status} ")));
    }
}

#[test]
fn a_head_that_drips_in_puts_nothing_off_and_a_body_does() {
    const SECONDS: fn(u64) -> Duration = Duration::from_secs;
    let mut world = asked("drain");
    let before = world.time_left();
    world.clock_moves(SECONDS(20));
    world.origin_sends(b"HTTP/1.1 200 OK\r\n");
    assert!(world.time_left() < before - SECONDS(20), "one deadline for the head");
    world.origin_sends(b"Content-Length: 10\r\n\r\n");
    world.clock_moves(SECONDS(20));
    world.origin_sends(b"hel");
    assert_eq!(world.time_left(), SECONDS(60));
}

#[test]
fn a_client_that_goes_on_talking_is_lingered_over_for_thirty_seconds() {
    let mut world = refused("drain");
    for _ in 0..7 {
        assert_eq!((world.end(), world.time_left()), (None, Duration::from_secs(5)));
        world.clock_moves(Duration::from_secs(4));
        world.client_sends(b"more");
    }
    assert!(world.time_left() < Duration::from_secs(3), "28 of 30 are over");
    world.time_passes();
    assert_eq!(world.end(), Some(SessionEnd::BadRequest));
}

#[test]
fn what_a_client_floods_us_with_ends_by_the_policy_as_any_read() {
    const EMPTY: Stop = Stop::Blocked(StepEnd::DownstreamEmpty);
    for (policy, stop) in
        [("drain", EMPTY), ("short-read", EMPTY), ("fionread", EMPTY), ("reads:16", Stop::Yield)]
    {
        let mut world = refused(policy);
        world.client().more = 1 << 20;
        assert_eq!(world.one_step(Peer::Client).stop, stop, "{policy}");
    }
}

#[test]
fn a_drain_step_has_no_end_while_bytes_come_in() {
    const BODY: usize = 64 << 20;
    let mut world = asked("drain");
    world.quietly(|world| {
        world.origin_sends(format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\n\r\n").as_bytes());
        world.origin().more = BODY as u64 - 4096;
    });
    let step = world.one_step(Peer::Upstream);
    assert_eq!(step.stop, Stop::Blocked(StepEnd::UpstreamEmpty));
    assert!(step.read.bytes.0 >= BODY as u64 - 8192, "one step took {}", step.read.bytes);
}

#[test]
fn a_step_without_an_end_ends_with_the_proxy_and_tells_what_it_did() {
    let mut world = answering("drain");
    world.quietly(|world| {
        world.origin().more = 60 << 20;
        world.ends_after(100);
    });
    let step = world.one_step(Peer::Upstream);
    assert_eq!(step.stop, Stop::Close(SessionEnd::Shutdown));
    assert_eq!((step.read.reads, step.read.bytes.0), (100, 100 * 4096));
}

#[test]
fn a_flood_ends_with_the_proxy_too() {
    let mut world = refused("drain");
    world.client().more = 1 << 40;
    world.ends_after(100);
    assert_eq!(world.one_step(Peer::Client).stop, Stop::Close(SessionEnd::Shutdown));
}

#[test]
fn a_quota_ends_the_same_step_early_and_asks_for_another_turn() {
    let mut world = asked("bytes:64KiB");
    world.quietly(|world| {
        world.origin_sends(b"HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\n");
        world.origin().more = 60 << 20;
    });
    for _ in 0..10 {
        let step = world.one_step(Peer::Upstream);
        assert_eq!(step.stop, Stop::Yield);
        let bytes = step.read.bytes;
        assert!((64 << 10..72 << 10).contains(&bytes.0), "one step took {bytes}");
    }
}

/// A session whose answer has begun.
fn answering(policy: &str) -> World {
    let mut world = asked(policy);
    world.origin_sends(b"HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\n");
    world
}

/// Calls of read on the origin's connection and of write on the client's, so far.
fn calls(world: &World) -> (usize, usize) {
    (world.origin().reads, world.client().writes)
}

#[test]
fn a_short_write_is_the_last_call_of_its_step() {
    let mut world = answering("drain");
    world.client_room(6000);
    let before = calls(&world);
    world.origin().more = 1 << 20;
    let step = world.one_step(Peer::Upstream);
    assert_eq!((step.stop, step.read.bytes.0), (Stop::Blocked(StepEnd::DownstreamFull), 8192));
    let (reads, writes) = calls(&world);
    assert_eq!((reads - before.0, writes - before.1), (2, 2), "the second write was short");
    let sent = world.client().got.len();
    world.client_room(10_000);
    assert_eq!(world.client().got.len() - sent, 10_000, "it goes on at the next event");
}

#[test]
fn an_exact_hit_of_fionread_ends_the_step_without_another_read() {
    let mut world = answering("fionread");
    let before = calls(&world);
    world.quietly(|world| world.origin_sends(&[b'a'; 2 * 4096]));
    let step = world.one_step(Peer::Upstream);
    assert_eq!((step.stop, step.read.bytes.0), (Stop::Blocked(StepEnd::UpstreamEmpty), 8192));
    assert_eq!(calls(&world).0 - before.0, 2);
    // What comes later is read at its event, and a FIN is not forgotten.
    world.origin_sends(&[b'b'; 4096]);
    assert_eq!(world.origin().to_session.len(), 0);
    world.quietly(|world| {
        world.origin_sends(&[b'c'; 4096]);
        world.origin_closes();
    });
    world.run();
    assert_eq!(world.end(), Some(SessionEnd::UpstreamClosedEarly));
}

#[test]
fn a_quota_that_is_used_up_by_the_head_ends_that_step() {
    for policy in ["reads:1", "bytes:1KiB"] {
        let mut world = asked(policy);
        world.quietly(|world| {
            world.origin_sends(b"HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\n");
            world.origin().more = 1 << 20;
        });
        let step = world.one_step(Peer::Upstream);
        assert_eq!((step.read.reads, step.stop), (1, Stop::Yield));
        assert!(world.client_text().starts_with("HTTP/1.1 200 OK"), "what was read is handed on");
    }
}

#[test]
fn unread_requests_are_lingered_over_so_that_the_answer_is_not_reset() {
    let mut world = refused("drain");
    assert_eq!(world.end(), None, "it lingers until the client closes");
    assert!(world.client_text().starts_with("HTTP/1.1 400 "));
    assert!(world.client().fin_sent);
    world.client_closes();
    assert_eq!(world.end(), Some(SessionEnd::BadRequest));
}
