//! Which connection a hold served, and how its ends are written.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use probe::{Hold, Moved};
use records::Bytes;
use serde::Serialize;

/// The connection that a hold served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Holder {
    /// Who dialed it, and who accepted it.
    pub(super) client: String,
    pub(super) server: String,
    /// Which of the two is the worker's own end.
    pub(super) own_end: OwnEnd,
    /// Where the bytes came from or went to, where no other could be meant.
    pub(super) upstream: Option<String>,
    /// Received and sent by the worker in the hold.
    pub(super) bytes: Bytes,
}

/// See [`Holder::own_end`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OwnEnd {
    Client,
    Server,
}

/// Whether hosts are told by their addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Addresses {
    /// As they are.
    #[default]
    Shown,
    /// As numbers: they may be private.
    Hidden,
}

/// How addresses are written.
#[derive(Debug, Default)]
pub(super) struct Names {
    addresses: Addresses,
    /// Hosts in the order in which they were seen.
    hosts: Vec<IpAddr>,
}

impl Names {
    pub(super) fn new(addresses: Addresses) -> Self {
        Self { addresses, hosts: Vec::new() }
    }

    /// The far end of a connection.
    fn peer(&mut self, addr: SocketAddr) -> String {
        if self.addresses == Addresses::Shown {
            return addr.to_string();
        }
        let known = self.hosts.iter().position(|host| *host == addr.ip());
        let number = known.unwrap_or_else(|| {
            self.hosts.push(addr.ip());
            self.hosts.len() - 1
        });
        format!("host{}:{}", number + 1, addr.port())
    }

    /// The end of a watched process.
    pub(super) fn own(&self, addr: SocketAddr) -> String {
        match self.addresses {
            Addresses::Shown => addr.to_string(),
            Addresses::Hidden => format!(":{}", addr.port()),
        }
    }
}

/// A turn that moved less than this computes, or waits: what it moved may be the end of an answer and the
/// request of whoever comes next.
pub(super) const NEXT_TO_NOTHING: Bytes = Bytes::kib(4);

/// A client's connection that moved a hundredth of what an upstream did, or less, is not named as holder.
const SLIGHT: u64 = 100;

/// The connection that moved most in a hold, one of a client's where there is any that counts, and how many
/// others of clients there are.
///
/// A client's is one that came to a port on which the process listens; where that is not known, one to
/// which more was sent than came from it.
pub(super) fn served(
    hold: &Hold,
    ports: &BTreeSet<u16>,
    names: &mut Names,
) -> (Option<Holder>, usize) {
    let is_client = |moved: &&Moved| {
        if ports.is_empty() {
            moved.written >= moved.read
        } else {
            ports.contains(&moved.local.port())
        }
    };
    let (clients, upstreams): (Vec<&Moved>, Vec<&Moved>) = hold.moved.iter().partition(is_client);
    // One that moved next to nothing beside an upstream is not whose step it was: an answer that goes
    // into a file, since its client's socket is full, leaves the byte or two of another client.
    let most = upstreams.first().map_or(0, |upstream| bytes(upstream).0);
    let mover = clients.first().filter(|client| bytes(client).0.saturating_mul(SLIGHT) >= most);
    // Whose request the turn read, where no client's connection moved more than that and its answer. Where
    // the worker had no CPU, nobody's request was to blame.
    let has_cpu = hold.runnable_us.0 * 2 < hold.length_us.0;
    let asked = hold.asked.as_ref().filter(|asked| has_cpu && is_client(asked)).map(|asked| {
        let same = |client: &&&Moved| (client.local, client.remote) == (asked.local, asked.remote);
        *clients.iter().find(same).unwrap_or(&asked)
    });
    let is_enough = |mover: &&&Moved| bytes(mover) >= NEXT_TO_NOTHING;
    let mover = mover.filter(|mover| (has_cpu && asked.is_none()) || is_enough(mover));
    let client = mover.copied().or(asked);
    let is_other = |moved: &&&Moved| client.is_none_or(|client| moved.remote != client.remote);
    let others = clients.iter().filter(is_other).count();
    let mut holder = |moved: &Moved, own_end| {
        let (peer, own) = (names.peer(moved.remote), names.own(moved.local));
        let (client, server) = match own_end {
            OwnEnd::Server => (peer, own),
            OwnEnd::Client => (own, peer),
        };
        Holder { client, server, own_end, upstream: None, bytes: bytes(moved) }
    };
    let holder = match (client, upstreams.first()) {
        (Some(client), _) => {
            let holder = holder(client, OwnEnd::Server);
            let upstream = leads(&upstreams, hold.moved_elsewhere)
                .filter(|_| clients.is_empty() || leads(&clients, hold.moved_elsewhere).is_some());
            Some(Holder {
                upstream: upstream.map(|upstream| names.peer(upstream.remote)),
                ..holder
            })
        }
        (None, upstream) => upstream.map(|upstream| holder(upstream, OwnEnd::Client)),
    };
    (holder, others)
}

/// The one that moved nine tenths or more of all that these and unknown others did.
fn leads<'a>(moved: &[&'a Moved], elsewhere: Bytes) -> Option<&'a Moved> {
    let all: Bytes = moved.iter().map(|moved| bytes(moved)).sum::<Bytes>() + elsewhere;
    let first = moved.first()?;
    (bytes(first).0 as f64 >= 0.9 * all.0 as f64).then_some(first)
}

/// What a connection moved.
pub(super) fn bytes(moved: &Moved) -> Bytes {
    moved.read + moved.written
}
