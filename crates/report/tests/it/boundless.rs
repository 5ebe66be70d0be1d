//! Files of a run may hold any number: a program said so, or somebody wrote it.

use records::{
    Absence, Blocked, Bytes, CallTotal, CallTotals, Micros, MonoNs, Phase, WorkerTotals,
};
use report::{MAX_LINES, Style, html, text};

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
    let report = text(&run.records.manifest, summary, "runs/x".as_ref(), Style::Plain);
    assert!(report.lines().count() <= MAX_LINES, "{report}");
    let html = html(&analysis);
    assert!(html.contains("readv"), "what was told is shown");
}
