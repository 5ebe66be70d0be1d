//! Shows at a moment of their lives, made of records as trials make them.

use std::time::Duration;

use records::{
    Arm, Bytes, Dialed, DownloadInterval, Fetch, Hold, ListenerSample, Manifest, Micros, MonoNs,
    Outcome, Phase, PhaseSpan, Record, SchedSample, StepEnd, Stretch, Summary, Watched,
};
use serde_json::{Value, json};
use testkit::fixture::Run;

use crate::{ArmPlan, Order, Show, Side, Timing};

/// When the curtain goes up.
pub(crate) const START: MonoNs = MonoNs(5_000_000_000_000);

/// `ms` after that.
pub(crate) fn at(ms: u64) -> MonoNs {
    START + Duration::from_millis(ms)
}

pub(crate) fn arm() -> Arm {
    let mut arm = Arm::default();
    arm.proxy.reuseport = true;
    arm
}

pub(crate) fn plan(side: Side) -> ArmPlan {
    let (name, options, change, says) = match side {
        Side::Left => {
            ("starved", "--reuseport", "", "A worker reads one until its socket is empty.")
        }
        Side::Right => (
            "cured",
            "--reuseport --rcvbuf 40960",
            "--rcvbuf 40960",
            "The buffer runs empty, so the worker comes back.",
        ),
    };
    ArmPlan {
        name: name.to_owned(),
        options: options.to_owned(),
        words: Vec::new(),
        change: change.to_owned(),
        says: says.to_owned(),
        arm: arm(),
    }
}

pub(crate) fn show() -> Show {
    Show::new(plan(Side::Left), plan(Side::Right), Timing::STAGE, START)
}

pub(crate) fn manifest(phases: &[(Phase, u64)]) -> Manifest {
    let spans: Vec<PhaseSpan> = phases
        .iter()
        .map(|&(phase, ms)| PhaseSpan { phase, start_ns: at(ms), end_ns: None })
        .collect();
    Manifest { arm: arm(), phases: spans, listeners: vec![71, 72], ..Run::new().records.manifest }
}

pub(crate) fn summary(verdict: &str, good: u64, failed: u64, p50_us: u64) -> Summary {
    let latency =
        |p50: u64| json!({"min": 0, "p50": p50, "p90": p50, "p99": p50, "max": p50, "mean": p50});
    let fetches = |good: u64, failed: u64, p50: u64| {
        let outcomes: Value = json!({"ok": good, "timeout_no_byte": failed});
        json!({"attempts": good + failed, "outcomes": outcomes, "latency_us": latency(p50),
            "response_us": latency(p50), "failed_share": 0.0, "lag_us": latency(0)})
    };
    let all = good + failed;
    let failed_or_not = match failed {
        0 => format!("none of {all} fetches under load failed (starved from 5 %)"),
        _ => format!("{failed} of {all} fetches under load failed (66 %; starved from 5 %)"),
    };
    let reasons = match verdict {
        "starved" => {
            let slow =
                "p50 under load is 1.001 s, idle 5.3 ms, 188 x (starved from 20 x and 250 ms)";
            vec![failed_or_not, slow.to_owned()]
        }
        "degraded" => {
            let slow =
                "p99 under load is 118.4 ms, idle 6.1 ms, 19 x (degraded from 5 x and 50 ms)";
            vec![slow.to_owned(), failed_or_not]
        }
        "healthy" => vec![failed_or_not],
        _ => vec!["the hypervisor took CPU time worth 41 % of the run".to_owned()],
    };
    let summary = json!({
        "schema_version": 1, "verdict": verdict, "verdict_reasons": reasons,
        "caveats": [], "arm": arm(), "idle": fetches(40, 0, 5_300),
        "measure": fetches(good, failed, p50_us),
        "slow": {"downloads": 4, "bytes": 0, "bytes_per_sec": 803_000_000, "completed": 0,
            "broken": 0, "slot_bytes_per_sec": [], "completed_us": [], "workers_holding": 2},
        "proxy": {"status_counts": {}, "status_outcomes": {}, "unlogged": {}, "early_closes": 0,
            "session_ends": {}, "workers": []},
    });
    serde_json::from_value(summary).expect("a summary")
}

pub(crate) fn fetch(phase: Phase, start_ms: u64, took_ms: u64, outcome: Outcome) -> Record {
    fetch_of(phase, at(start_ms), Micros(took_ms * 1_000), outcome)
}

pub(crate) fn fetch_of(phase: Phase, start_ns: MonoNs, took: Micros, outcome: Outcome) -> Record {
    Record::Fetch(Fetch {
        fetch: 0,
        phase,
        intended_ns: start_ns,
        start_ns,
        client_port: None,
        connect_us: None,
        first_byte_us: None,
        total_us: took,
        response_us: took,
        bytes: Bytes(0),
        status: None,
        outcome,
    })
}

pub(crate) fn hold(worker: u32, slot: u16, from_ms: u64, to_ms: u64) -> Record {
    let bytes = Bytes::mib((to_ms - from_ms) * 2 / 5);
    hold_of(worker, 40_000 + slot, (at(from_ms), at(to_ms)), bytes)
}

pub(crate) fn hold_of(
    worker: u32,
    client_port: u16,
    (start_ns, end_ns): (MonoNs, MonoNs),
    bytes: Bytes,
) -> Record {
    Record::Hold(Hold {
        worker,
        turn: 1,
        session: 1,
        client_port,
        start_ns,
        end_ns,
        bytes,
        reads: 1,
        ended_by: StepEnd::UpstreamEmpty,
    })
}

pub(crate) fn stretch(worker: u32, from_ms: u64, to_ms: u64, polled_ms: u64) -> Record {
    stretch_of(worker, (at(from_ms), at(to_ms)), Micros(polled_ms * 1_000))
}

pub(crate) fn stretch_of(
    worker: u32,
    (start_ns, end_ns): (MonoNs, MonoNs),
    poll_us: Micros,
) -> Record {
    Record::Stretch(Stretch {
        worker,
        start_ns,
        end_ns,
        poll_us,
        cpu_us: Micros(0),
        turns: 1,
        steps: 1,
        accepts: 0,
    })
}

/// What is seen of both workers each 25 ms: `awake` tells whether they run.
fn looks(from_ms: u64, to_ms: u64, awake: bool) -> impl Iterator<Item = Record> {
    let samples = (from_ms..to_ms).step_by(25).flat_map(move |ms| {
        let run_ns = if awake { ms * 1_000_000 } else { 0 };
        [0, 1].map(|worker| SchedSample {
            who: Watched::Worker(worker),
            at_ns: at(ms),
            run_ns,
            run_wait_ns: 0,
        })
    });
    samples.map(Record::SchedSample)
}

fn queue(inode: u64, ms: u64, queue: u32) -> Record {
    Record::ListenerSample(ListenerSample { at_ns: at(ms), inode, queue, limit: 511 })
}

/// Hands the records of a trial over.
pub(crate) fn take(show: &mut Show, side: Side, records: impl IntoIterator<Item = Record>) {
    records.into_iter().for_each(|record| show.take(side, &record));
}

/// Time comes to `ms`; orders are carried out by the story.
pub(crate) fn tick(show: &mut Show, ms: u64) -> Vec<Order> {
    show.tick(at(ms))
}

/// A show whose left trial is idle, at 9.0 s.
pub(crate) fn idle() -> Show {
    let mut show = show();
    assert_eq!(tick(&mut show, 6_000), [Order::Start(Side::Left)]);
    idle_phase(&mut show, Side::Left, 6_000);
    tick(&mut show, 9_000);
    show
}

fn idle_phase(show: &mut Show, side: Side, begin: u64) {
    show.manifest(side, &manifest(&[(Phase::Setup, begin), (Phase::Idle, begin + 200)]));
    take(show, side, looks(begin, begin + 3_000, false));
    for ms in (begin + 200..begin + 3_000).step_by(100) {
        let worker = u32::try_from(ms / 100 % 2).expect("0 or 1");
        let between = [stretch(worker, ms - 190, ms, 190), stretch(worker, ms, ms + 10, 1)];
        take(show, side, between);
        take(show, side, [fetch(Phase::Idle, ms, 5, Outcome::Ok)]);
    }
}

fn phases(begin: u64) -> [(Phase, u64); 4] {
    [
        (Phase::Setup, begin),
        (Phase::Idle, begin + 200),
        (Phase::Load, begin + 4_200),
        (Phase::Measure, begin + 4_700),
    ]
}

/// A show whose left trial starves, at 16.5 s: worker 0 turns again after a step of 2.8 s, worker 1
/// tells nothing for 1.5 s.
pub(crate) fn starving() -> Show {
    let mut show = idle();
    show.manifest(Side::Left, &manifest(&phases(6_000)));
    tick(&mut show, 10_300);
    let dialed = |slot: u16| {
        Record::Dialed(Dialed {
            slot: u32::from(slot),
            client_port: 40_000 + slot,
            at_ns: at(10_300),
        })
    };
    take(&mut show, Side::Left, (0..4).map(dialed));
    take(&mut show, Side::Left, looks(10_000, 16_500, true));
    take(
        &mut show,
        Side::Left,
        [
            stretch(0, 10_200, 10_900, 20),
            stretch(0, 10_900, 13_700, 0),
            hold(0, 2, 10_900, 13_700),
            stretch(0, 13_700, 14_200, 10),
            stretch(0, 14_200, 15_300, 0),
            hold(0, 0, 14_200, 15_300),
            stretch(0, 15_300, 16_450, 10),
            stretch(1, 10_200, 11_800, 20),
            stretch(1, 11_800, 13_600, 0),
            hold(1, 1, 11_800, 13_600),
            hold(1, 3, 13_600, 14_900),
            stretch(1, 13_600, 14_900, 0),
        ],
    );
    for ms in (10_800..15_000).step_by(100) {
        let held = [(10_900, 13_700, 0), (11_800, 14_900, 1)];
        let dies = held
            .iter()
            .any(|&(from, to, worker)| (from..to - 200).contains(&ms) && ms / 100 % 2 == worker);
        let fate = if dies { (1_000, Outcome::TimeoutNoByte) } else { (60, Outcome::Ok) };
        take(&mut show, Side::Left, [fetch(Phase::Measure, ms, fate.0, fate.1)]);
    }
    for ms in (10_900..16_500).step_by(50) {
        let waits = |from: u64, to: u64| {
            let length = if (from..to).contains(&ms) { (ms - from) / 200 } else { 0 };
            u32::try_from(length).expect("few")
        };
        let queues = [waits(10_900, 13_700).max(waits(14_200, 15_300)), waits(11_800, 16_500)];
        take(&mut show, Side::Left, [queue(71, ms, queues[0]), queue(72, ms, queues[1])]);
    }
    for ms in (10_800..16_400).step_by(200) {
        let interval = DownloadInterval {
            start_ns: at(ms),
            end_ns: at(ms + 200),
            bytes: vec![Bytes(40_000_000); 4],
        };
        take(&mut show, Side::Left, [Record::DownloadInterval(interval)]);
    }
    tick(&mut show, 16_500);
    show
}

/// The same, judged.
pub(crate) fn judged(verdict: &str, good: u64, failed: u64) -> Show {
    let mut show = starving();
    let mut phases = phases(6_000).to_vec();
    phases.extend([(Phase::Drain, 16_500), (Phase::Teardown, 16_900)]);
    show.manifest(Side::Left, &manifest(&phases));
    let summary = summary(verdict, good, failed, 1_001_000);
    show.over(Side::Left, Ok(Box::new(summary)));
    tick(&mut show, 17_500);
    show
}

/// A show whose right trial runs under load, at 45.0 s.
pub(crate) fn curing() -> Show {
    let mut show = judged("starved", 27, 53);
    tick(&mut show, 25_500);
    assert_eq!(tick(&mut show, 32_600), [Order::Start(Side::Right)]);
    idle_phase(&mut show, Side::Right, 32_600);
    show.manifest(Side::Right, &manifest(&phases(32_600)));
    tick(&mut show, 36_900);
    for ms in (36_900..45_000).step_by(10) {
        take(&mut show, Side::Right, [stretch(0, ms, ms + 10, 1), stretch(1, ms, ms + 10, 1)]);
    }
    for ms in (37_300..44_900).step_by(100) {
        take(&mut show, Side::Right, [fetch(Phase::Measure, ms, 61, Outcome::Ok)]);
        let length = u32::from(ms.is_multiple_of(300));
        take(&mut show, Side::Right, [queue(71, ms, length), queue(72, ms, 0)]);
    }
    tick(&mut show, 45_000);
    show
}

/// The last act, at 60.0 s.
pub(crate) fn closing() -> Show {
    let mut show = curing();
    let mut phases = phases(32_600).to_vec();
    phases.extend([(Phase::Drain, 45_000), (Phase::Teardown, 45_100)]);
    show.manifest(Side::Right, &manifest(&phases));
    let summary = summary("degraded", 80, 0, 61_000);
    show.over(Side::Right, Ok(Box::new(summary)));
    tick(&mut show, 46_000);
    tick(&mut show, 53_500);
    tick(&mut show, 60_000);
    show
}
