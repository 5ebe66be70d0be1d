//! Counters of the kernel's TCP, around the fetches under load: `/proc/net/netstat` and
//! `/proc/net/snmp` (proc(5)).
//!
//! They count for all sockets of this network namespace, whoever owns them. What the kernel hides
//! is left out: nothing is told as zero that was not read.

use std::collections::BTreeMap;
use std::fs;

use records::CounterSpan;

#[cfg(test)]
mod tests;

/// Counters at one point of time, as `TcpExt.ListenOverflows`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters(BTreeMap<&'static str, u64>);

/// Both have the same format.
const FILES: [&str; 2] = ["/proc/thread-self/net/netstat", "/proc/thread-self/net/snmp"];

/// What bears on a connection that was late. Their meaning: `SNMP_MIB_ITEM` and
/// `Documentation/networking/snmp_counter.rst` in the kernel's source.
const WATCHED: [&str; 16] = [
    // A handshake that found the accept queue full; and one that was dropped for any reason.
    "TcpExt.ListenOverflows",
    "TcpExt.ListenDrops",
    // A SYN that found the queue of unfinished handshakes full: dropped, or answered by a cookie.
    "TcpExt.TCPReqQFullDrop",
    "TcpExt.TCPReqQFullDoCookies",
    // Timers that fired; SYNs and SYN-ACKs sent again; segments sent again.
    "TcpExt.TCPTimeouts",
    "TcpExt.TCPSynRetrans",
    "Tcp.RetransSegs",
    "TcpExt.TCPFastRetrans",
    "TcpExt.TCPLostRetransmit",
    // Receive buffers without room: queues that were repacked, pruned, or cut.
    "TcpExt.TCPRcvCollapsed",
    "TcpExt.PruneCalled",
    "TcpExt.RcvPruned",
    "TcpExt.TCPRcvQDrop",
    "TcpExt.TCPZeroWindowDrop",
    // Segments that found the queue of a locked socket full.
    "TcpExt.TCPBacklogDrop",
    // Connections given up for want of memory.
    "TcpExt.TCPAbortOnMemory",
];

impl Counters {
    /// What they are now. It takes 0.1 ms.
    pub(super) fn read() -> Self {
        let texts = FILES.iter().filter_map(|path| fs::read_to_string(path).ok());
        Self(texts.flat_map(|text| watched(&text)).collect())
    }

    /// What they were at this point and are at a later one; only what was read at both.
    pub(super) fn until(&self, later: &Self) -> BTreeMap<String, CounterSpan> {
        let span = |(&name, &before): (&&'static str, &u64)| {
            let after = *later.0.get(name)?;
            Some((name.to_owned(), CounterSpan { before, after }))
        };
        self.0.iter().filter_map(span).collect()
    }
}

/// The watched counters in a text of line pairs: names and values, both after the same `TcpExt:`.
fn watched(text: &str) -> Vec<(&'static str, u64)> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let (Some((group, names)), Some((same, values))) =
            (names.split_once(": "), values.split_once(": "))
        else {
            continue;
        };
        if group != same {
            continue;
        }
        for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
            let is_it = |watched: &&&str| watched.split_once('.') == Some((group, name));
            // A value below zero, as MaxConn has, is a setting and no counter.
            if let (Some(watched), Ok(value)) = (WATCHED.iter().find(is_it), value.parse()) {
                found.push((*watched, value));
            }
        }
    }
    found
}
