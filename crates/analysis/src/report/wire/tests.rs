use records::Phase;
use testkit::fixture::Run;

use super::*;
use crate::Analysis;
use crate::report::Stay;
use crate::report::{FetchReport, Happening, Moment};

const ACK: u8 = Packet::ACK;

/// Packets at milliseconds; each as (ms, who, flags, bytes).
fn told(packets: &[(u64, Peer, u8, u64)], end_ms: u64) -> Vec<(u64, Wire)> {
    let packets: Vec<Packet> = packets
        .iter()
        .map(|&(ms, from, flags, bytes)| Packet {
            at_ns: MonoNs(ms * 1_000_000),
            from,
            flags,
            bytes: Bytes(bytes),
        })
        .collect();
    let rungs = ladder(&packets, MonoNs(end_ms * 1_000_000));
    rungs.into_iter().map(|(at, wire)| (at.0 / 1_000_000, wire)).collect()
}

const fn sent(from: Peer, what: Sent, packets: u64, bytes: u64, lasted_ms: u64) -> Wire {
    Wire::Sent { from, what, packets, bytes: Bytes(bytes), lasted_us: Micros(lasted_ms * 1_000) }
}

const fn silence(of: Missing, lasted_ms: u64) -> Wire {
    Wire::Silence { of, lasted_us: Some(Micros(lasted_ms * 1_000)) }
}

use Peer::{Client, Proxy};

#[test]
fn a_fetch_that_is_given_up_leaves_a_fin_that_waits_and_an_rst() {
    let packets = [
        (0, Client, Packet::SYN, 0),
        (0, Proxy, Packet::SYN | ACK, 0),
        (0, Client, ACK, 0),
        (1, Client, ACK, 58),
        (1, Proxy, ACK, 0),
        (1_000, Client, Packet::FIN | ACK, 0),
        (1_040, Proxy, ACK, 0),
        (6_000, Proxy, ACK, 200),
        (6_000, Client, Packet::RST, 0),
    ];
    assert_eq!(
        told(&packets, 9_000),
        [
            (0, sent(Client, Sent::Syn, 1, 0, 0)),
            (0, sent(Proxy, Sent::Syn, 1, 0, 0)),
            (1, sent(Client, Sent::Data, 1, 58, 0)),
            (1, silence(Missing::Answer, 999)),
            (1_000, sent(Client, Sent::Fin, 1, 0, 0)),
            (1_000, silence(Missing::Fin, 5_000)),
            (6_000, sent(Proxy, Sent::Data, 1, 200, 0)),
            (6_000, sent(Client, Sent::Rst, 1, 0, 0)),
        ]
    );
    // Of a proxy that never comes back.
    let open = told(&packets[..7], 9_000);
    let never = Wire::Silence { of: Missing::Fin, lasted_us: None };
    assert_eq!(open.last(), Some(&(1_000, never)));
}

#[test]
fn packets_in_a_row_are_one_until_there_is_a_pause() {
    let answer = |ms: u64| (ms, Proxy, ACK, 1_000);
    let mut packets = vec![(0, Client, Packet::SYN, 0), (0, Proxy, Packet::SYN | ACK, 0)];
    packets.extend([
        (60, Client, ACK, 58),
        answer(70),
        answer(75),
        (75, Client, ACK, 0),
        answer(119),
    ]);
    packets.extend([
        answer(169),
        (170, Proxy, Packet::FIN | ACK, 500),
        (171, Client, Packet::FIN | ACK, 0),
    ]);
    assert_eq!(
        told(&packets, 9_000)[2..],
        [
            (0, silence(Missing::Request, 60)),
            (60, sent(Client, Sent::Data, 1, 58, 0)),
            (70, sent(Proxy, Sent::Data, 3, 3_000, 49)),
            (119, silence(Missing::MoreOfAnswer, 50)),
            (169, sent(Proxy, Sent::Data, 2, 1_500, 1)),
            (170, sent(Proxy, Sent::Fin, 1, 500, 0)),
            (171, sent(Client, Sent::Fin, 1, 0, 0)),
        ]
    );
}

#[test]
fn a_syn_that_is_dropped_is_told() {
    let syn = |ms: u64| (ms, Client, Packet::SYN, 0);
    assert_eq!(
        told(&[syn(0), syn(1_030), (1_030, Proxy, Packet::RST | ACK, 0)], 9_000),
        [
            (0, sent(Client, Sent::Syn, 1, 0, 0)),
            (0, silence(Missing::Handshake, 1_030)),
            (1_030, sent(Client, Sent::Syn, 1, 0, 0)),
            (1_030, sent(Proxy, Sent::Rst, 1, 0, 0)),
        ]
    );
    assert_eq!(told(&[], 9_000), []);
}

#[test]
fn packets_stand_between_what_else_happened_and_take_no_time_from_it() {
    let run = Run::held();
    let of = |number| FetchReport::of(&Analysis::of(&run.records), Phase::Measure, number);
    let plain = of(43).expect("the fetch");
    let mut laid = plain.clone();
    let wanted = laid.fetch.intended_ns;
    let at = |us: u64, from, flags| Packet {
        at_ns: wanted + Duration::from_micros(us),
        from,
        flags,
        bytes: Bytes(0),
    };
    // In the middle of the time before it was accepted; and at the very moment when it was wanted.
    let packets = [
        at(0, Client, Packet::SYN),
        at(30_000, Proxy, Packet::SYN | ACK),
        at(70_000, Client, Packet::RST),
    ];
    laid.lay_packets(&packets, wanted + Duration::from_secs(9));
    let is_wire = |moment: &&Moment| matches!(moment.what, Happening::Wire(_));
    assert_eq!(laid.timeline.iter().filter(is_wire).count(), packets.len());
    assert_eq!(laid.timeline.len(), plain.timeline.len() + packets.len());
    assert!(laid.timeline.is_sorted_by_key(|moment| (moment.at_ns, moment.what)));
    let stays = |story: &FetchReport| -> Vec<Stay> {
        story.timeline.iter().flat_map(|moment| moment.then.clone()).collect()
    };
    assert_eq!(stays(&laid), stays(&plain));
    for pair in laid.timeline.windows(2) {
        let (since, until) = (pair[0].at_ns, pair[1].at_ns);
        assert!(
            pair[0].then.iter().all(|stay| (since..until).contains(&stay.start_ns)),
            "{pair:?}"
        );
    }
}
