//! With real connections in the shape of a trial: clients, a proxy that relays nothing, an origin.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use super::*;

/// A listener and the connections to it, dialing and accepting ends.
struct Server {
    listener: TcpListener,
    open: Vec<(TcpStream, TcpStream)>,
}

impl Server {
    fn new() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        Self { listener, open: Vec::new() }
    }

    fn addr(&self) -> SocketAddr {
        self.listener.local_addr().expect("bound")
    }

    /// One more connection, over which the server sent `sent` bytes; the client's port.
    fn connect(&mut self, sent: usize) -> u16 {
        let mut near = TcpStream::connect(self.addr()).expect("a connection");
        let (mut far, _) = self.listener.accept().expect("the same");
        let mut bytes = vec![1; sent];
        far.write_all(&bytes).expect("room for it");
        near.read_exact(&mut bytes).expect("all of it");
        let port = near.local_addr().expect("bound").port();
        self.open.push((near, far));
        port
    }

    fn close(&mut self, port: u16) {
        self.open.retain(|(near, _)| near.local_addr().expect("bound").port() != port);
    }
}

fn looked(sockets: &mut Sockets) -> Vec<(SocketEnd, u16)> {
    let mut seen = Vec::new();
    sockets.look(&mut seen);
    let sample = |record| match record {
        Record::SocketSample(sample) => (sample.end, sample.port),
        other => panic!("{other:?}"),
    };
    let mut seen: Vec<_> = seen.into_iter().map(sample).collect();
    seen.sort_unstable();
    seen
}

/// All four ends of a download.
fn ends(client: u16, upstream: u16) -> [(SocketEnd, u16); 4] {
    [
        (SocketEnd::Origin, upstream),
        (SocketEnd::Upstream, upstream),
        (SocketEnd::Downstream, client),
        (SocketEnd::Slow, client),
    ]
}

/// A download between its two fellows of a trial, and a fetch beside it.
fn trial() -> (Sockets, Server, Server, (u16, u16)) {
    let (mut proxy, mut origin) = (Server::new(), Server::new());
    let _fetch = (proxy.connect(50), origin.connect(50));
    let download = (proxy.connect(0), origin.connect(4_000));
    let mut sockets = Sockets::open();
    sockets.listening(Role::Origin, origin.addr());
    sockets.listening(Role::Proxy, proxy.addr());
    sockets.dialed(0, download.0);
    (sockets, proxy, origin, download)
}

#[test]
fn every_end_of_a_download_is_seen_under_load_only() {
    let (mut sockets, _proxy, _origin, (client, upstream)) = trial();
    let nothing = [];
    for (phase, expected) in [
        (Phase::Idle, nothing.as_slice()),
        (Phase::Load, &ends(client, upstream)),
        (Phase::Measure, &ends(client, upstream)),
        (Phase::Drain, &nothing),
    ] {
        sockets.phase(phase);
        assert_eq!(looked(&mut sockets), expected, "{phase:?}");
    }
}

#[test]
fn a_download_that_takes_the_place_of_another_is_found() {
    let (mut sockets, mut proxy, mut origin, (client, upstream)) = trial();
    sockets.phase(Phase::Measure);
    assert_eq!(looked(&mut sockets), ends(client, upstream));

    proxy.close(client);
    origin.close(upstream);
    sockets.ended(client);
    assert_eq!(looked(&mut sockets), [], "no download, nothing to see");
    let (client, upstream) = (proxy.connect(0), origin.connect(9_000));
    sockets.dialed(0, client);
    // The old connection to the origin is missed at the first look, so another is looked for.
    looked(&mut sockets);
    assert_eq!(looked(&mut sockets), ends(client, upstream));
}

#[test]
fn there_is_an_end_to_what_is_watched() {
    let (mut sockets, mut proxy, mut origin, _) = trial();
    sockets.phase(Phase::Measure);
    for slot in 0..20 {
        origin.connect(100);
        sockets.dialed(slot, proxy.connect(0));
    }
    assert_eq!(looked(&mut sockets).len(), 4 * MOST);
}

#[test]
fn without_a_way_to_ask_nothing_is_seen() {
    let (mut sockets, _proxy, _origin, _) = trial();
    sockets.phase(Phase::Measure);
    sockets.diag = None;
    assert_eq!(looked(&mut sockets), []);
}
