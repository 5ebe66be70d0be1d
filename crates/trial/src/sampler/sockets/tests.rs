//! With real connections in the shape of a trial: an origin, and a proxy that relays nothing.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use testkit::pick;

use super::*;

/// An origin and the connections to it, dialing and accepting ends.
struct Origin {
    listener: TcpListener,
    open: Vec<(TcpStream, TcpStream)>,
}

impl Origin {
    fn new() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        Self { listener, open: Vec::new() }
    }

    /// One more connection, over which it sent `sent` bytes; the proxy's port.
    fn connect(&mut self, sent: usize) -> u16 {
        let addr = self.listener.local_addr().expect("bound");
        let mut near = TcpStream::connect(addr).expect("a connection");
        let (mut far, _) = self.listener.accept().expect("the same");
        let mut bytes = vec![1; sent];
        far.write_all(&bytes).expect("room for it");
        near.read_exact(&mut bytes).expect("all of it");
        let port = near.local_addr().expect("bound").port();
        self.open.push((near, far));
        port
    }

    fn watched(&self, downloads: u32) -> Upstreams {
        let origin = self.listener.local_addr().ok();
        Upstreams { origin, phase: Phase::Measure, ..Upstreams::open(downloads) }
    }
}

fn looked(upstreams: &mut Upstreams) -> Vec<u16> {
    let mut seen = Vec::new();
    upstreams.look(&mut seen);
    let samples = seen.into_iter().map(pick!(SocketSample));
    samples.map(|sample| sample.expect("no other record").port).collect()
}

#[test]
fn what_a_download_has_upstream_is_seen_under_load_only() {
    let mut origin = Origin::new();
    let (_fetch, download) = (origin.connect(50), origin.connect(4_000));
    let mut upstreams = origin.watched(1);
    for (phase, expected) in [
        (Phase::Idle, &[][..]),
        (Phase::Load, &[download]),
        (Phase::Measure, &[download]),
        (Phase::Drain, &[]),
    ] {
        upstreams.phase = phase;
        assert_eq!(looked(&mut upstreams), expected, "{phase:?}");
    }
    upstreams.phase = Phase::Measure;
    // Another takes its place.
    origin.open.clear();
    let next = origin.connect(9_000);
    assert_eq!(looked(&mut upstreams), [next]);
    upstreams.diag = None;
    assert!(looked(&mut upstreams).is_empty(), "without a way to ask");
}

#[test]
fn there_is_an_end_to_what_is_watched() {
    let mut origin = Origin::new();
    for _ in 0..20 {
        origin.connect(100);
    }
    assert_eq!(looked(&mut origin.watched(20)).len(), MOST);
}
