use std::fs;

use proptest::prelude::*;

use super::*;

const CAPTURE: Capture = Capture { packets: 0, dropped: 0, ahead_ns: 1_000_000_000, ended: None };

fn file(packets: &[Vec<u8>]) -> Vec<u8> {
    let head = [NANOSECONDS, 0x0004_0002, 0, 0, 96, LINUX_SLL];
    head.into_iter().flat_map(u32::to_ne_bytes).chain(packets.concat()).collect()
}

fn number(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("a packet")
}

/// A packet that came `ns` after the clock began, of which 96 bytes at most are kept.
fn one(ns: u32, (from, to): (u16, u16), flags: u8, bytes: usize) -> Vec<u8> {
    let mut packet = vec![0; LINK_HEAD];
    packet.extend([0x45, 0, 0, 0, 0, 0, 0, 0, 64, 6, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]);
    packet.extend([from.to_be_bytes(), to.to_be_bytes()].concat());
    packet.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x80, flags, 0, 0, 0, 0, 0, 0]);
    packet.extend(vec![0; 12 + bytes]);
    let length = number(&packet);
    packet.truncate(96);
    let head = [1, ns, number(&packet), length];
    head.into_iter().flat_map(u32::to_ne_bytes).chain(packet).collect()
}

fn read(bytes: &[u8], port: u16) -> io::Result<(Vec<Packet>, MonoNs)> {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join(PACKETS), bytes).expect("space on the disk");
    CAPTURE.packets(dir.path(), port, (MonoNs(10), MonoNs(100)))
}

#[test]
fn packets_of_one_client_are_read_with_all_their_bytes() {
    let file = file(&[
        one(9, (40_000, 80), Packet::SYN, 0),
        one(10, (40_000, 80), Packet::SYN, 0),
        one(11, (80, 40_000), Packet::SYN | Packet::ACK, 0),
        one(12, (40_001, 80), Packet::SYN, 0),
        one(99, (80, 40_000), Packet::ACK, 65_000),
        one(100, (40_000, 80), Packet::FIN | Packet::ACK, 0),
    ]);
    let packet =
        |ns, from, flags, bytes| Packet { at_ns: MonoNs(ns), from, flags, bytes: Bytes(bytes) };
    let packets = [
        packet(10, Peer::Client, Packet::SYN, 0),
        packet(11, Peer::Proxy, Packet::SYN | Packet::ACK, 0),
        packet(99, Peer::Proxy, Packet::ACK, 65_000),
    ];
    assert_eq!(read(&file, 40_000).expect("packets"), (packets.to_vec(), MonoNs(100)));
    // The last was not written to its end: those before it count.
    let torn = &file[..file.len() - 10];
    assert_eq!(read(torn, 40_000).expect("packets"), (packets.to_vec(), MonoNs(99)));
}

#[test]
fn another_file_is_refused() {
    let mut other = file(&[]);
    other[20] = 1;
    let error = read(&other, 1).expect_err("Ethernet");
    assert_eq!(error.to_string(), "not as this program keeps it");
    // Of one that ended before it wrote anything.
    assert_eq!(read(&[], 1).expect("no packets"), (Vec::new(), MonoNs(0)));
}

proptest! {
    #[test]
    fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..400), port: u16) {
        let whole = [file(&[]), bytes.clone()].concat();
        prop_assert!(read(&whole, port).is_ok());
        let head = [1, 50, number(&bytes), 9].into_iter().flat_map(u32::to_ne_bytes);
        let packet: Vec<u8> = head.chain(bytes).collect();
        prop_assert!(read(&file(&[packet]), port).is_ok());
    }
}
