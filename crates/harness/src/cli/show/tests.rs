//! Files of a run may hold any number: a program said so, or somebody wrote it.

use std::path::Path;

use records::{
    Absence, Blocked, Bytes, CallTotal, CallTotals, Micros, MonoNs, Phase, Verdict, WorkerTotals,
};
use report::Style;

use super::{case, data};
use crate::cases::{self, CaseArm, CaseFigure, Shown};
use analysis::Analysis;
use testkit::fixture::Run;

const MOST: u64 = u64::MAX;

/// A starved run in which whatever can be told is told to be as much as a number holds.
fn boundless() -> Run {
    let mut run = Run::starved();
    let records = &mut run.records;
    for fetch in records.fetches.iter_mut().filter(|fetch| fetch.phase == Phase::Measure) {
        (fetch.total_us, fetch.response_us) = (Micros(MOST), Micros(MOST));
        fetch.bytes = Bytes(MOST);
    }
    for session in &mut records.sessions {
        (session.log.rt_ms, session.log.urt_ms) = (MOST, Some(MOST));
        (session.steps, session.body_bytes) = (MOST, Bytes(MOST));
        (session.steps_us, session.longest_step_us) = (Micros(MOST), Micros(MOST));
    }
    for hold in &mut records.holds {
        (hold.end_ns, hold.bytes, hold.reads) = (MonoNs(MOST), Bytes(MOST), MOST);
    }
    for interval in &mut records.intervals {
        interval.bytes.fill(Bytes(MOST));
    }
    for download in &mut records.downloads {
        (download.total_us, download.bytes) = (Micros(MOST), Bytes(MOST));
    }
    for worker in 0..2 {
        let call = CallTotal {
            count: MOST,
            time_us: Micros(MOST),
            asleep_us: Micros(MOST),
            bytes: Bytes(MOST),
        };
        let calls = [("readv".to_owned(), call)].into();
        records.calls.push(CallTotals { worker, at_ns: MonoNs(MOST), calls });
        let (start_ns, end_ns) = (MonoNs(0), MonoNs(MOST));
        let call = "pwrite64".to_owned();
        records.blocked.push(Blocked { worker, start_ns, end_ns, call, client_port: None });
        let looks = u32::MAX;
        records.absences.push(Absence {
            worker,
            start_ns,
            end_ns,
            looks,
            running: looks,
            waiting: looks,
            blocked: looks,
        });
        records.totals.push(WorkerTotals {
            worker,
            at_ns: MonoNs(MOST),
            steps: MOST,
            accept_pauses: MOST,
            records_lost: MOST,
            longest_step_us: Micros(MOST),
            longest_turn_us: Micros(MOST),
            ..WorkerTotals::default()
        });
    }
    run
}

#[test]
fn a_run_of_numbers_without_bounds_has_a_summary_and_a_page() {
    let run = boundless();
    let analysis = Analysis::of(&run.records);
    let summary = &analysis.summary;
    let readv = &summary.proxy.calls["readv"];
    assert_eq!((readv.count, readv.asleep_us, readv.bytes), (MOST, Micros(MOST), Bytes(MOST)));
    assert_eq!(summary.slow.bytes, Bytes(MOST));
    let report = report::text(&run.records.manifest, summary, "runs/x".as_ref(), Style::Plain);
    assert!(report.lines().count() <= report::MAX_LINES, "{report}");
    let html = report::html(&data(&analysis));
    assert!(html.contains("readv"), "what was told is shown");
}

#[test]
fn every_case_is_told_within_the_width() {
    for name in cases::names() {
        let told = cases::find(name).expect("a case");
        let figures = |arm: &CaseArm| {
            let figure = |figure: &CaseFigure| {
                let here = (*figure != CaseFigure::Calls).then(|| "12.4 ms ".repeat(20));
                (*figure, here, arm.published.get(figure).cloned())
            };
            told.figures.iter().map(figure).collect()
        };
        let shown: Vec<Shown> = told
            .arms
            .iter()
            .map(|arm| Shown {
                arm: arm.name.clone(),
                verdict: Verdict::Starved,
                dir: "trials/01-1-x/20260301T120000Z-trial".into(),
                figures: figures(arm),
            })
            .collect();
        let text = report::case(&case(&told, &shown), &[], Path::new("runs/x-case"), Style::Plain);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{name}:\n{text}");
        assert!(text.contains(&told.title) && text.contains("records     runs/x-case"));
        for arm in &told.arms {
            for published in arm.published.values() {
                let words: Vec<&str> = published.split_whitespace().take(3).collect();
                assert!(text.contains(&words.join(" ")), "{name}: {published}");
            }
        }
    }
}
