//! Which session of the proxy served which fetch or download: joined by the client's port.
//!
//! A port may be used again within a run. So each connection that a worker accepted belongs to the
//! client that had taken the port last when it was accepted, and each client gets the first of its
//! connections. Of a connection that is kept open the first fetch has the session, as it was told; those
//! after it have its worker, and nothing else is known of the proxy's side. A worker that is held accepts late, even after its client has given up: the end of
//! a fetch says nothing about its session.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use records::{Dialed, DownloadEnd, Fetch, Micros, MonoNs, Phase, RunRecords, Session, Visibility};

use crate::window::{Window, grouped};

/// How much earlier than told a download's connection may have been accepted: its client tells of
/// the handshake when it gets the CPU. Matters only where a port is used again within that time.
const DIAL_SLACK: Duration = Duration::from_secs(1);

/// One accepted connection of the proxy.
#[derive(Clone, Copy, Debug)]
pub struct Connection<'a> {
    /// The worker that owns it.
    pub worker: u32,
    /// The client's port.
    pub client_port: u16,
    /// When `accept` returned.
    pub accepted_ns: MonoNs,
    /// Its session, once that had ended.
    pub session: Option<&'a Session>,
}

impl<'a> Connection<'a> {
    /// Its session, where the access log has a line of it.
    pub fn logged(&self) -> Option<&'a Session> {
        self.session.filter(|session| session.is_logged())
    }
}

/// One connection of the slow client.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Which of the parallel downloads.
    pub slot: u32,
    /// The client's port.
    pub client_port: u16,
    /// When the connection stood.
    pub dialed_ns: MonoNs,
    /// When and how it ended; absent: it was open at the end of the run.
    pub ended: Option<(MonoNs, DownloadEnd)>,
}

impl Transfer {
    /// Whether it was there, and wanted, during `window`.
    pub(crate) fn open_in(&self, window: Window) -> bool {
        let end = match self.ended {
            Some((_, DownloadEnd::Replaced)) => return false,
            Some((at, _)) => at,
            None => window.end,
        };
        window.overlaps(Window::new(self.dialed_ns, end))
    }
}

/// Fetches, downloads and connections, joined.
#[derive(Debug)]
pub struct Join<'a> {
    /// Every connection that a worker accepted, in the order of worker and session.
    pub connections: Vec<Connection<'a>>,
    /// Every connection of the slow client.
    pub transfers: Vec<Transfer>,
    fetches: &'a [Fetch],
    by_client: HashMap<Client, usize>,
    /// Of fetches over a connection that was open already, by their position.
    kept: HashMap<usize, Connection<'a>>,
}

/// Somebody who took a port, by position in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Client {
    Fetch(usize),
    Transfer(usize),
}

impl<'a> Join<'a> {
    /// Joins the records of a run.
    pub(crate) fn of(records: &'a RunRecords) -> Self {
        let connections = connections(records);
        let transfers = transfers(records);
        let of_fetches = records.fetches.iter().enumerate().filter_map(|(index, fetch)| {
            Some((fetch.client_port?, (fetch.start_ns, Client::Fetch(index))))
        });
        let of_transfers = transfers.iter().enumerate().map(|(index, transfer)| {
            let begin = transfer.dialed_ns - DIAL_SLACK;
            (transfer.client_port, (begin, Client::Transfer(index)))
        });
        let mut clients = grouped(of_fetches.chain(of_transfers));
        clients.values_mut().for_each(|takers| takers.sort_unstable());

        let mut in_time: Vec<usize> = (0..connections.len()).collect();
        in_time.sort_by_key(|&index| connections[index].accepted_ns);
        let mut by_client = HashMap::new();
        for index in in_time {
            let connection = &connections[index];
            let seen_ns = known_from(records.manifest.visibility, connection);
            let Some(takers) = clients.get(&connection.client_port) else { continue };
            let before = takers.partition_point(|(begin, _)| *begin <= seen_ns);
            if let Some((_, client)) = before.checked_sub(1).and_then(|last| takers.get(last)) {
                by_client.entry(*client).or_insert(index);
            }
        }
        let kept = kept(&records.fetches, &connections);
        Self { connections, transfers, fetches: &records.fetches, by_client, kept }
    }

    /// The connection of the `index`-th fetch; absent: no worker accepted it.
    pub fn fetch(&self, index: usize) -> Option<&Connection<'a>> {
        let own = self.by_client.get(&Client::Fetch(index)).map(|&at| &self.connections[at]);
        own.or_else(|| self.kept.get(&index))
    }

    /// The fetches of the measure phase: position among the records', record, connection.
    pub fn measured(
        &self,
    ) -> impl Iterator<Item = (usize, &'a Fetch, Option<&Connection<'a>>)> + Clone {
        let fetches = self.fetches.iter().enumerate();
        let measured = fetches.filter(|(_, fetch)| fetch.phase == Phase::Measure);
        measured.map(|(index, fetch)| (index, fetch, self.fetch(index)))
    }

    /// The connection of the `index`-th transfer.
    pub fn transfer(&self, index: usize) -> Option<&Connection<'a>> {
        self.by_client.get(&Client::Transfer(index)).map(|&at| &self.connections[at])
    }
}

/// The connections of fetches that found theirs open, without what was told of the first one's session.
fn kept<'a>(fetches: &[Fetch], connections: &[Connection<'a>]) -> HashMap<usize, Connection<'a>> {
    let by_port = grouped(connections.iter().map(|one| (one.client_port, one)));
    let of = |(index, fetch): (usize, &Fetch)| {
        let of_port = by_port.get(&fetch.client_port?)?.iter();
        let found_open = fetch.connect_us == Some(Micros(0));
        let was_there = |one: &&&Connection<'_>| {
            let closed = one.session.map_or(MonoNs(u64::MAX), |session| session.closed_ns);
            found_open && one.accepted_ns < fetch.start_ns && fetch.start_ns <= closed
        };
        let last = of_port.filter(was_there).max_by_key(|one| one.accepted_ns)?;
        Some((index, Connection { session: None, ..**last }))
    };
    fetches.iter().enumerate().filter_map(of).collect()
}

/// When a connection was there for certain. A log tells only when it ended, to the millisecond; when
/// it was accepted is reckoned back from that, and may seem earlier than its client began.
fn known_from(visibility: Visibility, connection: &Connection<'_>) -> MonoNs {
    match (visibility, connection.session) {
        (Visibility::Sampled | Visibility::LogOnly, Some(session)) => {
            session.closed_ns + Duration::from_millis(1)
        }
        _ => connection.accepted_ns,
    }
}

/// Accepts and sessions tell of the same connections: the first is there for those still open, the
/// second where an accept's record was lost.
fn connections(records: &RunRecords) -> Vec<Connection<'_>> {
    let accepted = records.accepted.iter();
    let accepted = accepted.map(|of| ((of.worker, of.session), of.client_port, of.at_ns, None));
    let ended = records.sessions.iter();
    let ended = ended.map(|of| ((of.worker, of.session), of.client_port, of.accepted_ns, Some(of)));
    let connection = |(key, client_port, accepted_ns, session)| {
        let (worker, _) = key;
        (key, Connection { worker, client_port, accepted_ns, session })
    };
    accepted.chain(ended).map(connection).collect::<BTreeMap<_, _>>().into_values().collect()
}

/// Dials and ends tell of the same transfers: each end belongs to the latest dial of its slot and
/// port; an end without a dial stands for itself.
fn transfers(records: &RunRecords) -> Vec<Transfer> {
    let dial = |&Dialed { slot, client_port, at_ns }: &Dialed| Transfer {
        slot,
        client_port,
        dialed_ns: at_ns,
        ended: None,
    };
    let mut transfers: Vec<Transfer> = records.dialed.iter().map(dial).collect();
    let places = transfers.iter().enumerate();
    let dials = grouped(places.map(|(index, dial)| ((dial.slot, dial.client_port), index)));
    for download in &records.downloads {
        let Some(client_port) = download.client_port else { continue };
        let end_ns = download.start_ns + download.total_us.as_duration();
        let ended = Some((end_ns, download.end));
        let (slot, dialed_ns) = (download.slot, download.start_ns);
        let dials = dials.get(&(slot, client_port)).into_iter().flatten().copied();
        let before = dials.filter(|&at| transfers[at].dialed_ns <= end_ns);
        match before.max_by_key(|&at| transfers[at].dialed_ns) {
            Some(at) => transfers[at].ended = ended,
            None => transfers.push(Transfer { slot, client_port, dialed_ns, ended }),
        }
    }
    transfers
}

#[cfg(test)]
mod tests;
