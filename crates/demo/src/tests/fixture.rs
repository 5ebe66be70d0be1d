//! Shows at a moment of their lives, made of runs of which everything is told.

use std::time::Duration;

use analysis::Analysis;
use records::{
    ListenerSample, Micros, MonoNs, Outcome, Phase, Record, SchedSample, Stretch, Summary, Watched,
};
use testkit::fixture::{Run, at_ms};

use crate::{ArmPlan, Order, Show, Side, Timing};

/// When the left trial begins, after the curtain went up: it is the first moment of its run.
const BEGIN: u64 = 6_000;

/// `ms` after the curtain went up.
pub(crate) fn at(ms: u64) -> MonoNs {
    at_ms(0) - Duration::from_millis(BEGIN) + Duration::from_millis(ms)
}

pub(crate) fn show() -> Show {
    let plan = |name: &str, change: &str, says: &str| ArmPlan {
        name: name.to_owned(),
        options: format!("--reuseport {change}").trim_end().to_owned(),
        words: Vec::new(),
        change: change.to_owned(),
        says: says.to_owned(),
        arm: records::from_words(&["--reuseport"]),
    };
    let left = plan("starved", "", "A worker reads one until its socket is empty.");
    let cure = "The buffer runs empty, so the worker comes back.";
    Show::new(left, plan("cured", "--rcvbuf 40960", cure), Timing::STAGE, at(0))
}

/// A run that starves: steps of 0.4 s on one worker, of 1.2 s on the other, while queues grow.
pub(crate) fn starved() -> Run {
    let mut run = Run::held();
    run.records.manifest.listeners = vec![1, 2];
    for ms in (0..13_000).step_by(25) {
        let loaded = ms >= 4_200;
        run.records.sched.extend([0, 1].map(|worker| SchedSample {
            who: Watched::Worker(worker),
            at_ns: at_ms(ms),
            run_ns: if loaded { ms * 1_000_000 } else { 0 },
            run_wait_ns: 0,
        }));
        for (inode, step) in [(1, 402), (2, 1_202)] {
            let waits = if loaded { (ms - 4_200) % step / 97 } else { 0 };
            let queue = u32::try_from(waits).expect("few");
            let sample = ListenerSample { at_ns: at_ms(ms), inode, queue, limit: 511 };
            run.records.listeners.push(sample);
        }
    }
    run
}

/// The same load, with workers that turn.
pub(crate) fn cured() -> Run {
    let mut run = Run::loaded(&[(80, Outcome::Ok, 61_000)]);
    run.records.manifest.listeners = vec![1, 2];
    for (worker, ms) in [0, 1].into_iter().flat_map(|w| (4_000..13_000).map(move |ms| (w, ms))) {
        run.records.stretches.push(Stretch {
            worker,
            start_ns: at_ms(ms),
            end_ns: at_ms(ms + 1),
            poll_us: Micros(100),
            cpu_us: Micros(900),
            turns: 1,
            steps: 1,
            accepts: 0,
        });
    }
    run
}

pub(crate) fn summary(run: &Run) -> Summary {
    Analysis::of(&run.records).summary
}

/// Every record that a show takes, with when it is told.
pub(crate) fn records(run: &Run) -> Vec<(MonoNs, Record)> {
    let all = run.records.clone();
    let dialed = all.dialed.into_iter().map(|one| (one.at_ns, Record::Dialed(one)));
    let ended = |one: &records::Fetch| one.start_ns + one.total_us.as_duration();
    let fetches = all.fetches.into_iter().map(|one| (ended(&one), Record::Fetch(one)));
    let moved = all.intervals.into_iter().map(|one| (one.end_ns, Record::DownloadInterval(one)));
    let holds = all.holds.into_iter().map(|one| (one.end_ns, Record::Hold(one)));
    let stretches = all.stretches.into_iter().map(|one| (one.end_ns, Record::Stretch(one)));
    let sched = all.sched.into_iter().map(|one| (one.at_ns, Record::SchedSample(one)));
    let queues = all.listeners.into_iter().map(|one| (one.at_ns, Record::ListenerSample(one)));
    dialed
        .chain(fetches)
        .chain(moved)
        .chain(holds)
        .chain(stretches)
        .chain(sched)
        .chain(queues)
        .collect()
}

/// The same record, with all its times so much later.
fn later(record: &Record, by: Duration) -> Record {
    let mut value = serde_json::to_value(record).expect("JSON");
    let by = u64::try_from(by.as_nanos()).expect("short");
    for (name, value) in value.as_object_mut().expect("an object") {
        if let (true, Some(ns)) = (name.ends_with("_ns"), value.as_u64()) {
            *value = (ns + by).into();
        }
    }
    serde_json::from_value(value).expect("a record")
}

/// Hands over what a trial that began at `begin` has told by `until`; records take half a second.
pub(crate) fn trial(show: &mut Show, side: Side, run: &Run, (begin, until): (u64, u64)) {
    let by = Duration::from_millis(begin - BEGIN);
    let mut manifest = run.records.manifest.clone();
    manifest.phases.iter_mut().for_each(|span| span.start_ns = span.start_ns + by);
    manifest.phases.retain(|span| span.start_ns <= at(until));
    show.manifest(side, &manifest);
    let told = records(run).into_iter().filter(|(told, _)| *told + by <= at(until - 500));
    told.for_each(|(_, record)| show.take(side, &later(&record, by)));
    tick(show, until);
}

/// Time comes to `ms`; orders are carried out by the story.
pub(crate) fn tick(show: &mut Show, ms: u64) -> Vec<Order> {
    show.tick(at(ms))
}

/// A show whose left trial is idle, at 9.0 s.
pub(crate) fn idle() -> Show {
    let mut show = show();
    assert_eq!(tick(&mut show, BEGIN), [Order::Start(Side::Left)]);
    trial(&mut show, Side::Left, &starved(), (BEGIN, 9_000));
    show
}

/// A show whose left trial starves, at 16.5 s: worker 1 has told nothing for a while.
pub(crate) fn starving() -> Show {
    let mut show = show();
    tick(&mut show, BEGIN);
    trial(&mut show, Side::Left, &starved(), (BEGIN, 16_500));
    show
}

/// A show whose left trial is over, with this summary, at 20.5 s.
pub(crate) fn judged(summary: Summary) -> Show {
    let mut show = show();
    tick(&mut show, BEGIN);
    trial(&mut show, Side::Left, &starved(), (BEGIN, 20_000));
    show.over(Side::Left, Ok(Box::new(summary)));
    tick(&mut show, 20_500);
    show
}

/// A show whose right trial began at 35.5 s, as far as it came by `until`.
fn right(until: u64) -> Show {
    let mut show = judged(summary(&starved()));
    tick(&mut show, 28_500);
    assert_eq!(tick(&mut show, 35_500), [Order::Start(Side::Right)]);
    trial(&mut show, Side::Right, &cured(), (35_500, until));
    show
}

/// A show whose right trial runs under load, at 47.0 s.
pub(crate) fn curing() -> Show {
    right(47_000)
}

/// The last act, at 60.0 s.
pub(crate) fn closing() -> Show {
    let mut show = right(50_000);
    show.over(Side::Right, Ok(Box::new(summary(&cured()))));
    for ms in [50_000, 57_000, 60_000] {
        tick(&mut show, ms);
    }
    show
}

/// As many idle fetches, for a trial that has just begun.
pub(crate) fn idle_fetches(count: u64) -> Vec<Record> {
    let mut run = Run::new();
    run.fetches(Phase::Idle, count, Outcome::Ok, 5_000);
    run.records.fetches.into_iter().map(Record::Fetch).collect()
}
