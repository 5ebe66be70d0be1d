use std::time::Duration;

use records::{Micros, Phase, SocketSample};

use super::*;
use testkit::fixture::{Run, at_ms};

/// A run whose only hold goes from 6 s to 8 s; its session's upstream port is 5,000.
fn run() -> Run {
    let mut run = Run::new();
    run.download(0, 0, 1_000_000);
    run.hold(0, 6_000, 2_000, Bytes::mib(500));
    let session = &mut run.records.sessions[0];
    session.upstream_port = Some(5_000);
    run.records.holds[0].session = session.session;
    run
}

fn look(run: &mut Run, port: u16, end: SocketEnd, ms: u64, receive_queue: Bytes) {
    run.records.sockets.push(SocketSample {
        at_ns: at_ms(ms),
        end,
        port,
        receive_queue,
        send_queue: Bytes(0),
        rcv_space: None,
        rwnd_limited_us: Some(Micros(0)),
        retransmits: None,
    });
}

fn reserve(run: &Run) -> Option<Reserve> {
    assert!(run.records.manifest.phases.iter().any(|span| span.phase == Phase::Measure));
    of(&Context::of(&run.records), [0])
}

#[test]
fn only_its_own_upstream_socket_counts_and_only_inside_the_hold() {
    let mut run = run();
    assert_eq!(reserve(&run), None, "nobody looked");
    for (ms, depth) in [(5_999, 9), (6_000, 0), (6_500, 70), (7_000, 30), (8_000, 9)] {
        look(&mut run, 5_000, SocketEnd::Upstream, ms, Bytes(depth));
    }
    look(&mut run, 5_001, SocketEnd::Upstream, 7_000, Bytes(999));
    look(&mut run, 5_000, SocketEnd::Origin, 7_000, Bytes(999));
    let expected = Reserve { samples: 3, empty: 1, median: Bytes(30), most: Bytes(70) };
    assert_eq!(reserve(&run), Some(expected));
    assert!(run.records.holds[0].length_us().as_duration() == Duration::from_secs(2));
}
