//! Packets of a run (`--capture`): their heads, as tcpdump writes them into [`PACKETS`].
//!
//! Not for: what was sent. Of the bytes a packet only says how many they were.
//!
//! Invariant: whatever stands in the file, it is read without a panic: what is no TCP is left out, and what
//! was cut short ends the file.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::run_dir::PACKETS;
use crate::{Bytes, MonoNs};

#[cfg(test)]
mod tests;

/// What was kept of a run's packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// How many.
    pub packets: u64,
    /// How many more there were for which the kernel found no room.
    pub dropped: u64,
    /// What the clock of the packets is ahead of CLOCK_MONOTONIC.
    pub ahead_ns: u64,
    /// Why it ended before the last fetch did; absent: it did not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended: Option<String>,
}

/// A packet between a client and the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// When the proxy's host sent or had it.
    pub at_ns: MonoNs,
    /// Who sent it.
    pub from: Peer,
    /// Its flags, as TCP has them: [`Packet::SYN`] and so on.
    pub flags: u8,
    /// Bytes of the stream in it. On loopback a packet has up to 64 KiB.
    pub bytes: Bytes,
}

/// An end of a client's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Peer {
    /// Who asked.
    Client,
    /// Who was asked.
    Proxy,
}

impl Packet {
    /// No more bytes will come from its sender (RFC 9293, section 3.1; so the others).
    pub const FIN: u8 = 0x01;
    /// The sender wants a connection.
    pub const SYN: u8 = 0x02;
    /// There is no such connection, or none any more.
    pub const RST: u8 = 0x04;
    /// It tells what its sender has received.
    pub const ACK: u8 = 0x10;

    /// Whether it has all of these flags.
    pub const fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }
}

impl Capture {
    /// The packets of `client_port`'s connections from `from` until `until`, in their order, of the run
    /// in `dir`; and when the last of any connection was seen: of later ones nothing is known.
    ///
    /// # Errors
    /// The file is not there, is none of nanoseconds and "cooked" packets, or cannot be read.
    pub fn packets(
        &self,
        dir: &Path,
        client_port: u16,
        (from, until): (MonoNs, MonoNs),
    ) -> io::Result<(Vec<Packet>, MonoNs)> {
        let mut file = BufReader::with_capacity(1 << 20, File::open(dir.join(PACKETS))?);
        match words(&mut file)? {
            None => return Ok((Vec::new(), MonoNs(0))),
            Some([NANOSECONDS, _, _, _, _, LINUX_SLL]) => {}
            Some(_) => return Err(io::Error::other("not as this program keeps it")),
        }
        let (mut packets, mut bytes, mut end) = (Vec::new(), Vec::new(), MonoNs(0));
        while let Some((at_unix_ns, length)) = next(&mut file, &mut bytes)? {
            let at_ns = MonoNs(at_unix_ns.saturating_sub(self.ahead_ns));
            end = end.max(at_ns);
            if (from..until).contains(&at_ns) {
                packets.extend(packet(&bytes, length, at_ns, client_port));
            }
        }
        Ok((packets, end))
    }
}

/// As pcap-savefile(5) has it: written by this host's byte order, with times in nanoseconds.
const NANOSECONDS: u32 = 0xa1b2_3c4d;
/// A head of 16 bytes before that of IP, whatever the interface (DLT_LINUX_SLL).
const LINUX_SLL: u32 = 113;
const LINK_HEAD: usize = 16;
/// More of one packet nobody keeps (MAXIMUM_SNAPLEN of tcpdump).
const MOST_KEPT: u32 = 262_144;

/// Reads the next packet into `bytes`: its time, and how long it was before it was cut.
fn next(file: &mut impl Read, bytes: &mut Vec<u8>) -> io::Result<Option<(u64, u32)>> {
    let Some([s, ns, kept @ ..=MOST_KEPT, length]) = words(file)? else {
        return Ok(None);
    };
    bytes.resize(usize::try_from(kept).unwrap_or_default(), 0);
    Ok(fills(file, bytes)?.then(|| (u64::from(s) * 1_000_000_000 + u64::from(ns), length)))
}

/// Whether the file had that much left.
fn fills(file: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}

/// What these bytes are, if they are of TCP and of this client.
fn packet(bytes: &[u8], length: u32, at_ns: MonoNs, client_port: u16) -> Option<Packet> {
    let ip = bytes.get(LINK_HEAD..)?;
    let ip_head = match ip.first()? >> 4 {
        4 => usize::from(ip.first()? & 0xf) * 4,
        6 => 40,
        _ => return None,
    };
    let tcp = ip.get(ip_head..)?;
    let port = |at| Some(u16::from_be_bytes(tcp.get(at..)?.first_chunk().copied()?));
    let from = match (port(0)?, port(2)?) {
        (from, _) if from == client_port => Peer::Client,
        (_, to) if to == client_port => Peer::Proxy,
        _ => return None,
    };
    let heads = LINK_HEAD + ip_head + usize::from(tcp.get(12)? >> 4) * 4;
    let bytes = u64::from(length).saturating_sub(u64::try_from(heads).ok()?);
    Some(Packet { at_ns, from, flags: *tcp.get(13)?, bytes: Bytes(bytes) })
}

/// The next numbers of the file, if it has as many left.
fn words<const N: usize>(file: &mut impl Read) -> io::Result<Option<[u32; N]>> {
    let mut words = [[0; 4]; N];
    Ok(fills(file, words.as_flattened_mut())?.then(|| words.map(u32::from_ne_bytes)))
}
