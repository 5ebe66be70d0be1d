//! A seeded simulation: thousands of lives of a session under short reads, stalls, resets and
//! broken peers. A failing life prints its seed; put it into `SEED` of one run to see it again.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use records::{BufferingMode, Bytes, ReadPolicy, SessionEnd};

use super::world::{Closed, World, limits};
use crate::session::Peer;

const LIVES: u64 = 6_000;

/// How the origin frames its answer, and where it goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Whole,
    Chunked,
    UntilClose,
    TooMuch,
    TooLittle,
    Resets,
    Silent,
    Garbage,
}

/// What is wrong with the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disk {
    Sound,
    NoFiles,
    Full,
    Broken,
}

fn pick<T: Copy>(rng: &mut ChaCha8Rng, of: &[T]) -> T {
    of[rng.random_range(0..of.len())]
}

struct Life {
    seed: u64,
    rng: ChaCha8Rng,
    policy: ReadPolicy,
    origin: Origin,
    /// How the client leaves before it has its answer; `None`: it stays.
    client: Option<Closed>,
    /// Bytes of a page.
    page: u64,
    /// Bytes a session may spool; `None`: its answer passes unbuffered.
    spool: Option<u64>,
    disk: Disk,
    body: Vec<u8>,
}

impl Life {
    fn new(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let policies =
            ["drain", "short-read", "fionread", "bytes:1", "bytes:10KiB", "reads:3", "time:1us"];
        let policy = pick(&mut rng, &policies).parse().expect("a policy");
        use Origin as O;
        let origins = [O::Whole, O::Whole, O::Chunked, O::UntilClose, O::TooMuch, O::TooLittle];
        let origin = pick(&mut rng, &[&origins[..], &[O::Resets, O::Silent, O::Garbage]].concat());
        let clients = [None, None, None, Some(Closed::Fin), Some(Closed::Rst)];
        let client = pick(&mut rng, &clients);
        let page = pick(&mut rng, &[40, 40, 500, 4096]);
        let spools = [None, Some(0), Some(1), Some(7), Some(5_000), Some(20_000), Some(1 << 30)];
        let spool = pick(&mut rng, &spools);
        let disks =
            [Disk::Sound, Disk::Sound, Disk::Sound, Disk::NoFiles, Disk::Full, Disk::Broken];
        let disk = pick(&mut rng, &disks);
        let length = rng.random_range(0..60_000);
        let body = (0..length).map(|_| rng.random()).collect();
        Self { seed, rng, policy, origin, client, page, spool, disk, body }
    }

    /// What the origin will send.
    fn answer(&mut self) -> Vec<u8> {
        let head = |framing: &str| format!("HTTP/1.1 200 OK\r\n{framing}\r\n").into_bytes();
        let length = head(&format!("Content-Length: {}\r\n", self.body.len()));
        match self.origin {
            Origin::Whole => [length, self.body.clone()].concat(),
            Origin::TooMuch => [length, self.body.clone(), vec![b'!'; 3000]].concat(),
            Origin::TooLittle | Origin::Resets => {
                let mut answer = [length, self.body.clone()].concat();
                let cut = self.rng.random_range(0..answer.len());
                answer.truncate(cut);
                answer
            }
            Origin::UntilClose => [head(""), self.body.clone()].concat(),
            Origin::Chunked => {
                let mut answer = head("Transfer-Encoding: chunked\r\n");
                let mut rest = self.body.as_slice();
                while !rest.is_empty() {
                    let (chunk, more) = rest.split_at(self.rng.random_range(1..=rest.len()));
                    answer.extend(format!("{:x}\r\n", chunk.len()).bytes());
                    answer.extend_from_slice(chunk);
                    answer.extend(b"\r\n");
                    rest = more;
                }
                answer.extend(b"0\r\n\r\n");
                answer
            }
            Origin::Silent => Vec::new(),
            Origin::Garbage => (0..500).map(|_| self.rng.random()).collect(),
        }
    }

    /// A read cut short by a signal is no proof of an empty socket; only policies that do not
    /// take it for one survive it, in nginx as here.
    fn survives_cut_reads(&self) -> bool {
        !matches!(self.policy, ReadPolicy::ShortRead | ReadPolicy::Fionread)
    }

    fn live(&mut self) -> World {
        let mut limits = limits(self.policy);
        limits.toggles.buffer = Bytes(self.page);
        limits.toggles.spool_max = self.spool.map(Bytes);
        if self.spool.is_some() {
            limits.toggles.buffering = BufferingMode::On;
        }
        let mut world = World::new(limits);
        match self.disk {
            Disk::Sound => {}
            Disk::NoFiles => world.disk().refuses = true,
            Disk::Full => world.disk().full_at = Some(self.rng.random_range(0..30_000)),
            Disk::Broken => world.disk().broken_at = Some(self.rng.random_range(0..30_000)),
        }
        let mut request = b"GET /bytes/1 HTTP/1.1\r\nHost: a\r\n\r\n".to_vec();
        let mut answer = self.answer();
        let whole = answer.len();
        let client_leaves = self.client.map(|how| (self.rng.random_range(1..=60), how));
        let mut turns = 0;
        while world.end.is_none() {
            turns += 1;
            assert!(turns < 20_000, "seed {}: the session never ends", self.seed);
            if let Some((turn, how)) = client_leaves
                && turn == turns
            {
                world.closes(Peer::Client, how);
            }
            if self.survives_cut_reads() && self.rng.random_ratio(1, 4) {
                world.origin().cut = Some(self.rng.random_range(1..100));
            }
            match self.rng.random_range(0..6) {
                0 if !request.is_empty() => {
                    let cut = request.len() - self.rng.random_range(1..=request.len());
                    let later = request.split_off(if cut == 0 { request.len() } else { cut });
                    world.sends(Peer::Client, &std::mem::replace(&mut request, later));
                }
                1 if world.host.dialed => world.connect_succeeds(),
                2 | 3 if world.host.dialed && !answer.is_empty() => {
                    let part = self.rng.random_range(1..=answer.len().min(9_000));
                    let rest = answer.split_off(part);
                    world.sends(Peer::Upstream, &answer);
                    answer = rest;
                    if answer.is_empty() {
                        match self.origin {
                            Origin::Resets => world.closes(Peer::Upstream, Closed::Rst),
                            Origin::UntilClose | Origin::TooLittle | Origin::Garbage => {
                                world.closes(Peer::Upstream, Closed::Fin);
                            }
                            _ => {}
                        }
                    }
                }
                4 => {
                    let most = if self.rng.random_ratio(1, 2) { 20_000 } else { 300 };
                    world.client_room(self.rng.random_range(0..most));
                }
                5 if answer.is_empty() && request.is_empty() || whole == 0 => {
                    world.client_room(1 << 40);
                    // All that could happen has: only the deadline is left.
                    if world.end.is_none() && request.is_empty() && world.host.dialed {
                        world.connect_succeeds();
                        world.client_room(1 << 40);
                        if world.end.is_none() {
                            let unread = world.origin().to_session.len();
                            assert_eq!(unread, 0, "seed {}: bytes forgotten", self.seed);
                            world.time_passes();
                        }
                    }
                }
                _ => {}
            }
        }
        world
    }

    fn check(&self, world: &World) {
        let (seed, end, record) = (self.seed, world.end, world.record());
        let got = world.client().got.clone();
        let blank = got.windows(4).position(|four| four == b"\r\n\r\n");
        let head = blank.map_or(got.len(), |at| at + 4);
        let body = &got[head..];
        assert_eq!(record.body_bytes.0, body.len() as u64, "seed {seed}: the record counts wrong");
        assert!(
            world.disk().bytes.len() as u64 <= self.spool.unwrap_or(0),
            "seed {seed}: spooled too much"
        );
        assert!(world.disk().files <= 1, "seed {seed}: a session has one file");
        if record.status == 200 && self.origin != Origin::Chunked {
            assert!(self.body.starts_with(body), "seed {seed}: the client got other bytes");
        }
        if end == Some(SessionEnd::Completed) && self.origin != Origin::Chunked {
            assert_eq!(body, self.body, "seed {seed}: completed, but not whole");
        }
        let sound = matches!(
            self.origin,
            Origin::Whole | Origin::TooMuch | Origin::Chunked | Origin::UntilClose
        );
        if sound && self.client.is_none() && end != Some(SessionEnd::LocalError) {
            assert_eq!(end, Some(SessionEnd::Completed), "seed {seed}: {:?}", self.policy);
        }
        if self.disk == Disk::Sound || self.spool.is_none() {
            assert_ne!(end, Some(SessionEnd::LocalError), "seed {seed}");
        }
        if record.status == 499 {
            assert!(got.is_empty(), "seed {seed}: 499 after an answer began");
            assert!(self.client.is_some(), "seed {seed}: 499, but the client stayed");
        }
    }
}

#[test]
fn a_session_survives_every_life() {
    let first: u64 = 0x7475_726e;
    let mut ends = std::collections::BTreeMap::new();
    let (mut spooled, mut filled) = (0, 0);
    for seed in first..first + LIVES {
        let mut life = Life::new(seed);
        let world = life.live();
        life.check(&world);
        let spools = !world.disk().bytes.is_empty();
        spooled += u64::from(spools);
        let next = world.disk().bytes.len() as u64 + life.page;
        filled += u64::from(spools && life.spool.is_some_and(|max| next > max));
        *ends.entry(world.end).or_insert(0) += 1;
    }
    println!("{LIVES} lives from seed {first}: {ends:?}");
    println!("{spooled} spooled, {filled} to the limit");
    assert!(spooled > 50 && filled > 50);
    // A simulation that never meets an end proves nothing of it.
    for end in [
        SessionEnd::Completed,
        SessionEnd::ClientClosed,
        SessionEnd::ClientReset,
        SessionEnd::UpstreamClosedEarly,
        SessionEnd::UpstreamTimeout,
        SessionEnd::UpstreamBadHead,
        SessionEnd::LocalError,
    ] {
        assert!(ends.contains_key(&Some(end)), "no life ended as {end:?}");
    }
}
