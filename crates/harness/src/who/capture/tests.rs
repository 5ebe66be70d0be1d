use analysis::Analysis;
use probe::HoldState;
use records::{Bytes, RunRecords, Verdict};

use super::*;
use crate::who::tests::{WORKER, at, calm, hold, ledger, seen, waiting};

/// A hold of 300 ms of a download, while three come to wait.
fn held(capture: &mut Capture) -> Told {
    let mut ledger = ledger();
    for (ms, waits) in [(0, 0), (200, 3), (300, 3)] {
        capture.look(at(ms), &waiting(waits));
        ledger.take(seen(ms, calm(100), vec![]), &waiting(waits));
    }
    let closed = hold(100, 300, HoldState::Closed);
    capture.look(at(400), &waiting(0));
    let told = ledger.take(seen(400, calm(100), vec![closed]), &waiting(0));
    told.into_iter().next().expect("a hold")
}

#[test]
fn a_hold_becomes_a_run_that_can_be_analysed() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut capture = Capture::new(Micros(300_000), dir.path().join("runs"));
    let told = held(&mut capture);
    let kept = capture.keep(&told).expect("it is long enough");
    let Captured::Kept { run_dir, more: true } = kept else { panic!("{kept:?}") };

    let records = RunRecords::load(run_dir.as_ref()).expect("a run");
    let [hold] = records.holds.as_slice() else { panic!("{:?}", records.holds) };
    assert_eq!((hold.start_ns, hold.length_us()), (told.hold.began_ns, told.hold.length_us));
    assert_eq!((hold.client_port, hold.bytes), (51_234, Bytes::mib(75)));
    let queues: Vec<_> = records.listeners.iter().map(|it| (it.at_ns, it.queue)).collect();
    assert_eq!(queues, [(at(200), 3), (at(300), 3), (at(400), 0)], "only while it lasted");
    let analysis = Analysis::of(&records);
    assert_eq!(analysis.summary.verdict, Verdict::Inconclusive);
    let reason = &analysis.summary.verdict_reasons[0];
    assert!(
        reason.starts_with(&format!("worker {WORKER} was held 300 ms by 10.0.0.7:51234")),
        "{reason}"
    );
    assert_eq!(analysis.summary.caveats, []);
    let style = report::Style::Plain;
    let text = report::text(&records.manifest, &analysis.summary, run_dir.as_ref(), style);
    assert!(!text.contains("doctor") && text.contains("explain"), "{text}");
}

#[test]
fn short_holds_are_not_kept_and_long_ones_not_without_end() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut capture = Capture::new(Micros(300_001), dir.path().to_owned());
    let told = held(&mut capture);
    assert_eq!(capture.keep(&told), None);
    capture.at_least = told.hold.length_us;
    let kept: Vec<_> = std::iter::from_fn(|| capture.keep(&told)).collect();
    assert_eq!(kept.len(), RUNS);
    assert!(matches!(kept.last(), Some(Captured::Kept { more: false, .. })), "{:?}", kept.last());
    for _ in 0..=SAMPLES {
        capture.look(at(500), &waiting(1));
    }
    assert_eq!(capture.queues.len(), SAMPLES);
}

#[test]
fn a_directory_that_cannot_be_written_is_told_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("file");
    fs::write(&file, "").expect("it can be written");
    let mut capture = Capture::new(Micros(0), file.join("runs"));
    let told = held(&mut capture);
    let kept = capture.keep(&told);
    assert!(matches!(kept, Some(Captured::Failed { .. })), "{kept:?}");
    assert_eq!(capture.keep(&told), None);
}
