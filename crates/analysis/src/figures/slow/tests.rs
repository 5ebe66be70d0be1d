use records::{Outcome, ReadPolicy, Stretch};
use testkit::fixture::{Run, at_ms};

use super::*;
use crate::join::Join;
use crate::window::Windows;

const MIB: u64 = 1 << 20;

/// Downloads on these workers, each of 50 MB/s, in steps of 256 KiB. Each worker is busy for 6 of
/// the 8 seconds in which fetches are measured.
fn run(workers: &[u32]) -> Run {
    let mut run = Run::new();
    run.arm().proxy.read_policy = ReadPolicy::Fionread;
    for (slot, worker) in (0..).zip(workers) {
        run.download(slot, *worker, 50_000_000);
        let session = run.records.sessions.last_mut().expect("just made");
        (session.body_bytes, session.steps) = (Bytes(300 * MIB), 1_200);
    }
    for worker in 0..2 {
        for (start, end, poll_ms) in [(3_000, 5_000, 0), (5_000, 13_000, 2_000)] {
            run.records.stretches.push(Stretch {
                worker,
                start_ns: at_ms(start),
                end_ns: at_ms(end),
                poll_us: Micros(poll_ms * 1_000),
                cpu_us: Micros((end - start - poll_ms) * 1_000),
                turns: 1_000,
                steps: 1_000,
                accepts: 0,
            });
        }
    }
    run
}

fn law_of(run: &Run) -> Option<Law> {
    let records = &run.records;
    let (join, windows) = (Join::of(records), Windows::of(records));
    let holders = holders(&join, &windows);
    let slow = summary(records, &windows, &holders, &join);
    latency_model(records, windows.measure?, &holders, &slow, Micros(77_000))
}

/// 100 MB/s for 8 s by one worker that is busy for 6 s: 133 MB/s. Two steps of 256 KiB at that rate
/// take 3.93 ms, and 3 MiB need 4 + 12 turns: 62.9 ms, and 23.6 ms to move them.
#[test]
fn a_fetch_takes_its_turns_and_a_turn_a_step_of_each() {
    let law = law_of(&run(&[0, 0])).expect("downloads");
    assert!((law.turns - 16.0).abs() < 1e-9 && (law.downloads_per_worker - 2.0).abs() < 1e-9);
    assert_eq!(law.bytes_per_step, Bytes(MIB / 4));
    assert_eq!(law.drain_rate, BytesPerSec(133_333_333));
    assert_eq!(law.predicted_us.0 / 100, 865);
    assert_eq!(law.measured_us, Micros(77_000));
}

/// A worker without downloads neither drains nor counts.
#[test]
fn workers_that_hold_downloads_share_them() {
    let law = law_of(&run(&[0, 1, 1])).expect("downloads");
    assert!((law.downloads_per_worker - 1.5).abs() < 1e-9);
    assert_eq!(law.drain_rate, BytesPerSec(100_000_000), "150 MB/s by two, busy 3 parts of 4");
}

#[test]
fn fetches_are_drained_as_well() {
    let mut run = run(&[0, 0]);
    run.fetches(Phase::Measure, 1, Outcome::Ok, 5_000);
    run.fetches(Phase::Idle, 1, Outcome::Ok, 5_000);
    run.records.fetches.iter_mut().for_each(|fetch| fetch.bytes = Bytes(60_000_000));
    assert_eq!(law_of(&run).expect("downloads").drain_rate, BytesPerSec(143_333_333));
}

/// What is smaller than a step takes one.
#[test]
fn a_small_fetch_takes_one_turn_for_its_body() {
    let mut run = run(&[0, 0]);
    run.arm().fetch.fetch_size = Bytes::kib(1);
    assert!((law_of(&run).expect("downloads").turns - 5.0).abs() < 1e-9);
}

#[test]
fn it_says_nothing_without_downloads_steps_or_time() {
    assert_eq!(law_of(&run(&[])), None);
    let mut idle = run(&[0]);
    idle.records.stretches.clear();
    assert_eq!(law_of(&idle), None);
    // More steps than bytes: no step of nothing, and no infinite number of turns.
    for (bytes, steps) in [(0, 5), (5, 0), (0, 0), (3, 900)] {
        let mut run = run(&[0]);
        let session = run.records.sessions.last_mut().expect("its session");
        (session.body_bytes, session.steps) = (Bytes(bytes), steps);
        assert_eq!(law_of(&run), None, "{bytes} bytes, {steps} steps");
    }
    let mut unmeasured = run(&[0]);
    unmeasured.interrupt(4_500);
    assert_eq!(law_of(&unmeasured), None);
}

#[test]
fn it_says_nothing_where_a_step_has_no_bound() {
    let mut run = run(&[0, 0]);
    for (policy, says) in [
        (ReadPolicy::Drain, false),
        (ReadPolicy::ShortRead, false),
        (ReadPolicy::Bytes(Bytes::kib(64)), true),
    ] {
        run.arm().proxy.read_policy = policy;
        assert_eq!(law_of(&run).is_some(), says, "{policy:?}");
    }
}
