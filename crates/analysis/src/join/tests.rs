//! Ports that are used again, accepts that come late, and downloads that move.

use records::{Dialed, Download, DownloadEnd, Micros, Outcome, Phase, RunRecords, SessionEnd};

use super::Join;
use crate::figures::slow;
use crate::window::Windows;
use testkit::fixture::{Run, at_ms};

/// A session on `port` that `worker` accepted at `ms`.
fn accept(run: &mut Run, worker: u32, port: u16, ms: u64) {
    let length = Micros(1_000);
    run.session(worker, port, at_ms(ms), length, 200, SessionEnd::Completed, 0);
}

/// Fetches from `port` that started at these times, without sessions.
fn fetches_at(port: u16, starts_ms: &[u64]) -> Run {
    let mut run = Run::new();
    run.fetches(Phase::Measure, starts_ms.len() as u64, Outcome::Ok, 5_000);
    run.records.accepted.clear();
    run.records.sessions.clear();
    for (fetch, ms) in run.records.fetches.iter_mut().zip(starts_ms) {
        (fetch.client_port, fetch.start_ns) = (Some(port), at_ms(*ms));
    }
    run
}

/// When the session of each fetch was accepted.
fn accepted_at(records: &RunRecords) -> Vec<Option<u64>> {
    let join = Join::of(records);
    (0..records.fetches.len())
        .map(|index| {
            let connection = join.fetch(index)?;
            Some(connection.accepted_ns.micros_since(at_ms(0)).0 / 1_000)
        })
        .collect()
}

/// When the fetches of one port started, which workers accepted connections of it and when, and when
/// the session of each fetch was accepted.
#[rustfmt::skip]
#[test]
fn fetches_and_sessions_of_one_port() {
    for (what, starts, accepts, joined) in [
        ("used again, it leads to the session after each start", &[6_000, 8_000, 10_000][..],
            &[(0, 10_001), (0, 6_001), (0, 8_001)][..], &[Some(6_001), Some(8_001), Some(10_001)][..]),
        ("a held worker accepts after its client gave up", &[6_000, 12_000], &[(0, 9_500)],
            &[Some(9_500), None]),
        ("one that was never accepted does not take the next one's", &[6_000, 8_000], &[(0, 8_100)],
            &[None, Some(8_100)]),
        ("of two sessions it has the first; the second is of somebody unknown", &[6_000],
            &[(0, 7_000), (1, 6_001)], &[Some(6_001)]),
        ("a session from before belongs to nobody", &[6_000], &[(0, 5_999)], &[None]),
    ] {
        let mut run = fetches_at(50_000, starts);
        accepts.iter().for_each(|(worker, ms)| accept(&mut run, *worker, 50_000, *ms));
        accept(&mut run, 1, 50_001, 6_001);
        assert_eq!(accepted_at(&run.records), joined, "{what}");
    }
}

/// The second and third find the connection open that the first one made, the third after its end; a fetch
/// that had a handshake of its own found none.
#[test]
fn a_fetch_over_a_kept_connection_has_its_worker_and_no_session() {
    let mut run = fetches_at(50_000, &[6_000, 6_010, 6_030, 6_020]);
    run.session(1, 50_000, at_ms(6_001), Micros(24_000), 200, SessionEnd::Completed, 0);
    for fetch in [1, 2] {
        run.records.fetches[fetch].connect_us = Some(Micros(0));
    }
    let join = Join::of(&run.records);
    let of = |index| join.fetch(index).map(|one| (one.worker, one.session.is_some()));
    assert_eq!([0, 1, 2, 3].map(of), [Some((1, true)), Some((1, false)), None, None]);
}

#[test]
fn a_port_may_go_from_a_fetch_to_a_download() {
    let mut run = fetches_at(50_000, &[1_000]);
    accept(&mut run, 0, 50_000, 1_001);
    accept(&mut run, 1, 50_000, 4_000);
    run.records.dialed.push(Dialed { slot: 0, client_port: 50_000, at_ns: at_ms(4_010) });
    let join = Join::of(&run.records);
    assert_eq!(join.fetch(0).map(|connection| connection.worker), Some(0));
    assert_eq!(join.transfer(0).map(|connection| connection.worker), Some(1));
}

/// A dial of `slot` on `port` that `worker` accepted, and how it ended.
fn dial(
    run: &mut Run,
    slot: u32,
    worker: u32,
    port: u16,
    ms: u64,
    end: Option<(u64, DownloadEnd)>,
) {
    accept(run, worker, port, ms);
    run.records.dialed.push(Dialed { slot, client_port: port, at_ns: at_ms(ms) });
    let Some((end_ms, end)) = end else { return };
    run.records.downloads.push(Download {
        slot,
        client_port: Some(port),
        start_ns: at_ms(ms),
        total_us: at_ms(end_ms).micros_since(at_ms(ms)),
        bytes: records::Bytes(1),
        end,
        ..Download::default()
    });
}

#[test]
fn a_worker_holds_what_was_open_while_fetches_were_measured() {
    let mut run = Run::new();
    // Hung up to find another worker: never a load on worker 0.
    dial(&mut run, 0, 0, 50_000, 4_000, Some((4_100, DownloadEnd::Replaced)));
    dial(&mut run, 0, 1, 50_001, 4_200, None);
    // Over before the measure phase, and begun after it.
    dial(&mut run, 1, 0, 50_002, 4_000, Some((4_900, DownloadEnd::Completed)));
    dial(&mut run, 1, 1, 50_003, 13_500, None);
    // Two in turn in one slot, on two workers.
    dial(&mut run, 2, 2, 50_004, 4_000, Some((9_000, DownloadEnd::Completed)));
    dial(&mut run, 2, 1, 50_005, 9_001, Some((13_200, DownloadEnd::Stopped)));
    let join = Join::of(&run.records);
    let holders = slow::holders(&join, &Windows::of(&run.records));
    let held: Vec<(u32, Vec<u32>)> =
        holders.into_iter().map(|(worker, slots)| (worker, slots.into_iter().collect())).collect();
    assert_eq!(held, [(1, vec![0, 2]), (2, vec![2])]);
}

/// The same slot and port twice: each end belongs to the latest dial before it.
#[test]
fn a_slot_may_use_its_port_again() {
    for (first, last) in [
        (Some((4_500, DownloadEnd::Completed)), (12_000, DownloadEnd::Reset)),
        (None, (12_000, DownloadEnd::Stopped)),
    ] {
        let mut run = Run::new();
        dial(&mut run, 0, 0, 50_000, 4_000, first);
        dial(&mut run, 0, 1, 50_000, 7_000, Some(last));
        let join = Join::of(&run.records);
        let ends: Vec<_> = join.transfers.iter().map(|transfer| transfer.ended).collect();
        assert_eq!(ends, [first, Some(last)].map(|end| end.map(|(ms, how)| (at_ms(ms), how))));
        assert_eq!(join.transfer(1).map(|connection| connection.worker), Some(1));
    }
}
