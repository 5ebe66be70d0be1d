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

/// What did not come; in the order in which it is missed.
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

/// What is missing after such a packet, if nothing later was said before; `None`: the connection is over.
const fn missing(from: Peer, what: Sent) -> Option<Missing> {
    match (from, what) {
        (Peer::Client, Sent::Syn) => Some(Missing::Handshake),
        (Peer::Proxy, Sent::Syn) => Some(Missing::Request),
        (Peer::Client, Sent::Data) => Some(Missing::Answer),
        (Peer::Proxy, Sent::Data) => Some(Missing::MoreOfAnswer),
        (Peer::Client, Sent::Fin) => Some(Missing::Fin),
        (Peer::Proxy, Sent::Fin) | (_, Sent::Rst) => None,
    }
}

/// Packets that say something, those of one kind in a row as one, and the silence between them.
pub(super) fn ladder(packets: &[Packet], end: MonoNs) -> Vec<(MonoNs, Wire)> {
    let telling = packets.iter().flat_map(|packet| kinds(packet).map(|kind| (*packet, kind)));
    let telling: Vec<(Packet, Sent)> = telling.collect();
    let is_one = |a: &(Packet, Sent), b: &(Packet, Sent)| {
        (a.0.from, a.1) == (b.0.from, b.1) && b.0.at_ns.since(a.0.at_ns) < SILENCE
    };
    // What was said last, when, and whether that was the end.
    let (mut awaited, mut is_over, mut last) = (None, false, None);
    let mut rungs = Vec::new();
    for row in telling.chunk_by(is_one) {
        let [(first, what), ..] = row else { continue };
        rungs.extend(last.and_then(|since| silent(awaited?, since, Some(first.at_ns))));
        let until = row.last().map_or(first.at_ns, |(packet, _)| packet.at_ns);
        let (from, packets, lasted_us) =
            (first.from, row.len() as u64, until.micros_since(first.at_ns));
        let bytes = row.iter().map(|(packet, _)| packet.bytes).sum();
        rungs.push((first.at_ns, Wire::Sent { from, what: *what, packets, bytes, lasted_us }));
        let next = missing(first.from, *what);
        is_over |= next.is_none();
        awaited = awaited.max(next).filter(|_| !is_over);
        last = Some(until);
    }
    // A request that was answered needs nothing more; a FIN does.
    let silence = last.filter(|since| awaited == Some(Missing::Fin) && *since < end);
    rungs.extend(silence.and_then(|since| silent(Missing::Fin, since, None)));
    rungs
}

/// The silence from `since` until the next packet, if it was long; without one: for good.
fn silent(of: Missing, since: MonoNs, until: Option<MonoNs>) -> Option<(MonoNs, Wire)> {
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
