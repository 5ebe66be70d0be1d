use records::Phase;
use testkit::fixture::Run;

use super::*;
use crate::Analysis;
use crate::report::Stay;
use crate::report::{FetchReport, Happening, Moment};

const ACK: u8 = Packet::ACK;

/// What is told of these packets, each as (ms, who, flags, bytes): a line for each rung, from ms on.
fn told(packets: &[(u64, Peer, u8, u64)]) -> String {
    let packet = |&(ms, from, flags, bytes): &(u64, Peer, u8, u64)| {
        let (at_ns, bytes) = (MonoNs(ms * 1_000_000), Bytes(bytes));
        Packet { at_ns, from, flags, bytes }
    };
    let packets: Vec<Packet> = packets.iter().map(packet).collect();
    let rungs = ladder(&packets, MonoNs(9_000_000_000)).into_iter();
    rungs.map(|(at, wire)| format!("{}: {wire:?}\n", at.0 / 1_000_000)).collect()
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
    // Of a proxy that never comes back.
    let open = &packets[..7];
    insta::assert_snapshot!(told(&packets) + "never:\n" + &told(open));
}

#[test]
fn packets_in_a_row_are_one_until_there_is_a_pause() {
    let answer = |ms: u64| (ms, Proxy, ACK, 1_000);
    insta::assert_snapshot!(told(&[
        (0, Client, Packet::SYN, 0),
        (0, Proxy, Packet::SYN | ACK, 0),
        (60, Client, ACK, 58),
        answer(70),
        answer(75),
        (75, Client, ACK, 0),
        answer(119),
        answer(169),
        (170, Proxy, Packet::FIN | ACK, 500),
        (171, Client, Packet::FIN | ACK, 0),
    ]));
}

#[test]
fn a_syn_that_is_dropped_is_told() {
    let syn = |ms: u64| (ms, Client, Packet::SYN, 0);
    insta::assert_snapshot!(told(&[syn(0), syn(1_030), (1_030, Proxy, Packet::RST | ACK, 0)]));
    assert_eq!(told(&[]), "");
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
