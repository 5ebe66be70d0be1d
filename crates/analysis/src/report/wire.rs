//! A fetch's packets in its timeline: handshake, data, pauses, FIN and RST.
//!
//! Not for: reading packets ([`records::Capture`]), or their causes: what the worker did meanwhile stands
//! beside them.

use std::time::Duration;

use records::{Bytes, Micros, MonoNs, Packet, Peer};
use serde::Serialize;

#[cfg(test)]
mod tests;

/// So long nothing was sent: worth a line of its own.
const SILENCE: Duration = Duration::from_millis(50);

/// Packets of one kind in a row, or that there were none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// Somebody sent.
    Sent {
        /// Who.
        from: Peer,
        /// What.
        what: Sent,
        /// How many packets.
        packets: u64,
        /// Bytes of the stream in them.
        bytes: Bytes,
        /// From the first to the last.
        lasted_us: Micros,
    },
    /// Nobody sent anything.
    Silence {
        /// What was missing.
        of: Missing,
        /// For how long; absent: until the capture ended.
        #[serde(skip_serializing_if = "Option::is_none")]
        lasted_us: Option<Micros>,
    },
}

/// What a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sent {
    /// Its sender wants a connection, or agrees to one.
    Syn,
    /// It has bytes.
    Data,
    /// Its sender has no more.
    Fin,
    /// There is no such connection any more.
    Rst,
}

/// What did not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// The answer to a SYN.
    Handshake,
    /// The request, of a client that is connected.
    Request,
    /// The first byte of the answer.
    Answer,
    /// More of the answer.
    MoreOfAnswer,
    /// The proxy's FIN after the client's: nobody there has seen that one.
    Fin,
}

/// What was said so far, and what is missing next.
#[derive(Clone, Copy, Debug, Default)]
struct Said {
    syn: bool,
    connected: bool,
    asked: bool,
    answered: bool,
    client_fin: bool,
    over: bool,
}

impl Said {
    fn hear(&mut self, from: Peer, what: Sent) {
        match (from, what) {
            (Peer::Client, Sent::Syn) => self.syn = true,
            (Peer::Proxy, Sent::Syn) => self.connected = true,
            (Peer::Client, Sent::Data) => self.asked = true,
            (Peer::Proxy, Sent::Data) => self.answered = true,
            (Peer::Client, Sent::Fin) => self.client_fin = true,
            (Peer::Proxy, Sent::Fin) | (_, Sent::Rst) => self.over = true,
        }
    }

    fn missing(self) -> Option<Missing> {
        match self {
            Self { over: true, .. } => None,
            Self { client_fin: true, .. } => Some(Missing::Fin),
            Self { answered: true, .. } => Some(Missing::MoreOfAnswer),
            Self { asked: true, .. } => Some(Missing::Answer),
            Self { connected: true, .. } => Some(Missing::Request),
            Self { syn: true, .. } => Some(Missing::Handshake),
            Self { .. } => None,
        }
    }
}

/// Packets that say something, those of one kind in a row as one, and the silence between them.
pub(super) fn ladder(packets: &[Packet], end: MonoNs) -> Vec<(MonoNs, Wire)> {
    let telling = packets.iter().flat_map(|packet| kinds(packet).map(|kind| (*packet, kind)));
    let telling: Vec<(Packet, Sent)> = telling.collect();
    let is_one = |a: &(Packet, Sent), b: &(Packet, Sent)| {
        (a.0.from, a.1) == (b.0.from, b.1) && b.0.at_ns.since(a.0.at_ns) < SILENCE
    };
    let (mut said, mut rungs) = (Said::default(), Vec::new());
    let mut last: Option<MonoNs> = None;
    for row in telling.chunk_by(is_one) {
        let [(first, what), ..] = row else { continue };
        rungs.extend(last.and_then(|since| silent(said, since, Some(first.at_ns))));
        let until = row.last().map_or(first.at_ns, |(packet, _)| packet.at_ns);
        rungs.push((
            first.at_ns,
            Wire::Sent {
                from: first.from,
                what: *what,
                packets: row.len() as u64,
                bytes: row.iter().fold(Bytes(0), |sum, (packet, _)| Bytes(sum.0 + packet.bytes.0)),
                lasted_us: until.micros_since(first.at_ns),
            },
        ));
        said.hear(first.from, *what);
        last = Some(until);
    }
    // A request that was answered needs nothing more; a FIN does.
    let open = said.missing() == Some(Missing::Fin);
    let silence = last.filter(|since| open && *since < end);
    rungs.extend(silence.and_then(|since| silent(said, since, None)));
    rungs
}

/// The silence from `since` until the next packet, if it was long; without one: for good.
fn silent(said: Said, since: MonoNs, until: Option<MonoNs>) -> Option<(MonoNs, Wire)> {
    let of = said.missing()?;
    let lasted_us = until.map(|until| until.micros_since(since));
    let is_long = lasted_us.is_none_or(|lasted| lasted.as_duration() >= SILENCE);
    is_long.then_some((since, Wire::Silence { of, lasted_us }))
}

/// What a packet is for: nothing where it only acknowledges; the last bytes may come with a FIN.
fn kinds(packet: &Packet) -> impl Iterator<Item = Sent> {
    let alone = packet.has(Packet::RST) || packet.has(Packet::SYN);
    let first = if packet.has(Packet::RST) { Sent::Rst } else { Sent::Syn };
    let kinds = [
        (alone, first),
        (!alone && packet.bytes > Bytes(0), Sent::Data),
        (!alone && packet.has(Packet::FIN), Sent::Fin),
    ];
    kinds.into_iter().filter_map(|(is_it, kind)| is_it.then_some(kind))
}
