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

#[test]
fn a_fetch_takes_its_turns_and_a_turn_a_step_of_each() {
    let changed = |mut run: Run, change: &dyn Fn(&mut Run)| {
        change(&mut run);
        run
    };
    let fetched = |run: &mut Run| {
        run.fetches(Phase::Measure, 1, Outcome::Ok, 5_000);
        run.fetches(Phase::Idle, 1, Outcome::Ok, 5_000);
        run.records.fetches.iter_mut().for_each(|fetch| fetch.bytes = Bytes(60_000_000));
    };
    let policy = |policy| changed(run(&[0, 0]), &|run| run.arm().proxy.read_policy = policy);
    let moved = |bytes, steps| {
        changed(run(&[0]), &|run| {
            let session = run.records.sessions.last_mut().expect("its session");
            (session.body_bytes, session.steps) = (Bytes(bytes), steps);
        })
    };
    let rows = [
        // 100 MB/s for 8 s by one worker that is busy for 6 s: 133 MB/s. Two steps of 256 KiB at that
        // rate take 3.93 ms, and 3 MiB need 4 + 12 turns: 62.9 ms, and 23.6 ms to move them.
        ("two downloads on one worker", run(&[0, 0])),
        // 150 MB/s by two, busy 3 parts of 4; one without downloads would neither drain nor count.
        ("three on two", run(&[0, 1, 1])),
        ("fetches are drained as well", changed(run(&[0, 0]), &fetched)),
        // What is smaller than a step takes one turn for its body.
        ("1 KiB", changed(run(&[0, 0]), &|run| run.arm().fetch.fetch_size = Bytes::kib(1))),
        ("bytes:64KiB", policy(ReadPolicy::Bytes(Bytes::kib(64)))),
        // A step has no bound.
        ("drain", policy(ReadPolicy::Drain)),
        ("short-read", policy(ReadPolicy::ShortRead)),
        ("no download", run(&[])),
        ("no time is told", changed(run(&[0]), &|run| run.records.stretches.clear())),
        ("unmeasured", changed(run(&[0]), &|run| run.interrupt(4_500))),
        // More steps than bytes: no step of nothing, and no infinite number of turns.
        ("0 bytes in 5 steps", moved(0, 5)),
        ("5 bytes in no step", moved(5, 0)),
        ("nothing in no step", moved(0, 0)),
        ("3 bytes in 900 steps", moved(3, 900)),
    ];
    let row = |(what, run): (&str, Run)| format!("{what}: {:?}\n", law_of(&run));
    insta::assert_snapshot!(rows.map(row).concat());
}
