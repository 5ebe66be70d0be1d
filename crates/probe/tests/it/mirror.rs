//! What the tracer sees of the mirror's workers, beside what they tell of themselves.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::time::Duration;

use probe::{Means, Target, Tracer};
use records::{Hold, Micros, MonoNs, RunRecords, Session, Stretch, WorkerTotals};
use testkit::in_turn;

use crate::support::{can_probe, download, proxy, role, told, workers};

const HOLD: Micros = Micros(10_000);

/// The last that each worker told.
fn totals(told: &RunRecords) -> BTreeMap<u32, &WorkerTotals> {
    told.totals.iter().map(|totals| (totals.worker, totals)).collect()
}

/// The mirror with `args` under downloads for a while: what it told, and what the tracer did; and for how long
/// the workers had to wait for a CPU.
fn both(args: &[&str], downloads: u32, length: Duration) -> (RunRecords, RunRecords, Micros) {
    let origin = role("origin", &[]);
    let mut proxy = proxy(&origin, &[&["--hold", "10ms"], args].concat());
    let targets =
        workers(proxy.id(), proxy.ready.worker_tids.iter().map(|tid| tid.cast_unsigned()));
    let (tell, seen) = channel();
    let take = move |record| drop(tell.send(record));
    let tracer = Tracer::attach(&targets, Means::Probe, HOLD, take).expect("it can be watched");
    let before = waited(&targets);
    download(proxy.addr(), downloads, length);
    // The downloads were hung up: the proxy closes them in its next turns.
    std::thread::sleep(Duration::from_millis(200));
    let waited = Micros(waited(&targets) - before);
    tracer.stop().expect("all was seen");
    (told(proxy.stop().records()), told(seen), waited)
}

/// For how long these threads have waited for a CPU, in us (the second field of `schedstat`).
fn waited(targets: &[Target]) -> u64 {
    let of = |target: &Target| {
        let path = format!("/proc/{}/task/{}/schedstat", target.pid, target.tid);
        let text = std::fs::read_to_string(path).expect("it runs");
        let waited = text.split_ascii_whitespace().nth(1).expect("three fields");
        waited.parse::<u64>().expect("a number") / 1_000
    };
    targets.iter().map(of).sum()
}

/// Whether two holds took the same time. A worker may lose its CPU between one side's look at the clock and
/// the other's: then the other end agrees, and no more is missing than it waited for a CPU in all.
fn took_the_same(one: &Hold, other: &Hold, waited: Micros) -> bool {
    let apart = |one: MonoNs, other: MonoNs| one.0.abs_diff(other.0) / 1_000;
    let (start, end) = (apart(one.start_ns, other.start_ns), apart(one.end_ns, other.end_ns));
    alike(one.length_us().0, other.length_us().0, 200)
        || (start.min(end) <= 200 && start.max(end) <= waited.0)
}

/// Whether two lengths are the same within 5 % or 200 us.
fn alike(one: u64, other: u64, floor: u64) -> bool {
    one.abs_diff(other) <= (one.max(other) / 20).max(floor)
}

/// The hold of `others` that `hold` is: of the same connection, with the most time in common.
fn twin<'a>(hold: &Hold, others: &'a [Hold]) -> Option<&'a Hold> {
    let common = |other: &&Hold| {
        let (start, end) = (hold.start_ns.max(other.start_ns), hold.end_ns.min(other.end_ns));
        end.0.saturating_sub(start.0)
    };
    let same = |other: &&Hold| {
        (other.worker, other.client_port) == (hold.worker, hold.client_port) && common(other) > 0
    };
    others.iter().filter(same).max_by_key(common)
}

#[test]
fn holds_are_those_the_mirror_tells() {
    let _turn = in_turn();
    if !can_probe() {
        return;
    }
    // A drain may be one hold only, that lasts until the load ends.
    for (policy, at_least) in [("drain", 1), ("bytes:16MiB", 10)] {
        let args = ["--workers", "1", "--read-policy", policy, "--rcvbuf", "1MiB"];
        let (own, seen, waited) = both(&args, 3, Duration::from_secs(4));
        assert!(own.holds.len() >= at_least, "{policy}: the load makes {} holds", own.holds.len());
        let mut unlike = Vec::new();
        for hold in &own.holds {
            let twin = twin(hold, &seen.holds);
            let same = twin.is_some_and(|twin| {
                let pages = 2 * 4_096;
                took_the_same(hold, twin, waited)
                    && alike(hold.bytes.0, twin.bytes.0, pages)
                    && alike(hold.reads, twin.reads, 2)
                    && hold.turn == twin.turn
            });
            if !same && hold.length_us().0 > HOLD.0 * 21 / 20 {
                unlike.push((hold, twin));
            }
        }
        let share = unlike.len() as f64 / own.holds.len() as f64;
        println!("{policy}: {} holds, {} unlike", own.holds.len(), unlike.len());
        assert!(share <= 0.05, "{policy}: {unlike:#?}");
    }
}

#[test]
fn sums_and_sessions_are_those_the_mirror_tells() {
    let _turn = in_turn();
    if !can_probe() {
        return;
    }
    let args = ["--workers", "2", "--reuseport", "--read-policy", "bytes:256KiB"];
    let (own, seen, _) = both(&args, 6, Duration::from_secs(3));
    for (worker, totals) in totals(&own) {
        let told = self::totals(&seen)[&worker];
        println!("worker {worker}: {totals:?}\n    seen: {told:?}");
        assert_eq!(told.records_lost, 0);
        assert_eq!(told.sessions, totals.sessions);
        assert!(alike(told.bytes.0, totals.bytes.0, 1 << 20), "bytes: {told:?} {totals:?}");
        assert!(alike(told.reads, totals.reads, 100), "reads: {told:?} {totals:?}");
        assert!(alike(told.turns, totals.turns, 10), "turns: {told:?} {totals:?}");
        assert!(alike(told.steps, totals.steps, 20), "steps: {told:?} {totals:?}");
        let counted: u64 = told.step_lengths.0.iter().sum();
        assert_eq!(counted, told.steps, "every step has a length");
    }
    assert_eq!(own.accepted.len(), seen.accepted.len());
    for session in &own.sessions {
        let key = |of: &Session| (of.worker, of.client_port);
        let told = seen.sessions.iter().find(|told| key(told) == key(session));
        let told = told.expect("every session is seen");
        let sent = (session.body_bytes.0, told.body_bytes.0);
        assert!(alike(sent.0, sent.1, 4_096), "bytes: {session:?} {told:?}");
        assert!(alike(session.steps, told.steps, 5), "steps: {session:?} {told:?}");
        // From outside, a step begins where the one before it ended, or the poll returned.
        let (own_us, us) = (session.steps_us.0, told.steps_us.0);
        assert!(own_us * 3 < us * 4 && us * 3 < own_us * 4, "steps: {session:?} {told:?}");
        assert_eq!(session.upstream_port, told.upstream_port);
    }
    check_stretches(&seen);
}

/// They follow each other, and sum to the totals.
fn check_stretches(told: &RunRecords) {
    for (worker, totals) in totals(told) {
        let stretches = told.stretches.iter().filter(|stretch| stretch.worker == worker);
        let stretches: Vec<&Stretch> = stretches.collect();
        for pair in stretches.windows(2) {
            assert_eq!(pair[0].end_ns, pair[1].start_ns, "worker {worker}: a gap");
        }
        for stretch in &stretches {
            assert!(stretch.poll_us <= stretch.length_us(), "{stretch:?}");
            assert!(stretch.cpu_us <= stretch.length_us(), "{stretch:?}");
        }
        let sum = |of: fn(&Stretch) -> u32| -> u64 {
            stretches.iter().map(|stretch| u64::from(of(stretch))).sum()
        };
        assert_eq!(sum(|stretch| stretch.turns), totals.turns, "worker {worker}: turns");
        assert_eq!(sum(|stretch| stretch.steps), totals.steps, "worker {worker}: steps");
        assert_eq!(sum(|stretch| stretch.accepts), totals.sessions, "worker {worker}: accepts");
    }
}
