use records::{Bytes, CallTotal, CallTotals, Micros, MonoNs, Outcome};

use super::CaseFigure;
use analysis::Analysis;
use testkit::fixture::Run;

fn figure(run: &Run, name: &str) -> Option<String> {
    named(name).of(&Analysis::of(&run.records))
}

fn named(name: &str) -> CaseFigure {
    name.to_owned().try_into().expect("a figure")
}

#[test]
fn fetches_are_told_as_they_were() {
    let run = Run::loaded(&[(30, Outcome::Ok, 20_000), (10, Outcome::TimeoutNoByte, 1_004_000)]);
    let times = figure(&run, "fetch_times").unwrap();
    assert!(times.starts_with("20, 20, 20"), "{times}");
    assert_eq!(figure(&run, "outcomes").unwrap(), "30 ok, 10 timeout_no_byte of 40");
    // (30 * 20 + 10 * 1004) / 40
    let latency = figure(&run, "latency").unwrap();
    assert!(latency.contains("p50 20.0 ms") && latency.contains("mean 266 ms"), "{latency}");
}

#[test]
fn a_starved_run_has_its_steps_and_causes() {
    let run = Run::starved();
    let steps = figure(&run, "steps").unwrap();
    assert!(steps.starts_with("longest ") && steps.contains("longest turn"), "{steps}");
    let log = figure(&run, "log").unwrap();
    assert!(log.contains("499"), "{log}");
    assert!(figure(&run, "log_times").unwrap().starts_with("rt 0.000-"));
    assert!(figure(&run, "scheduler").unwrap().contains("%CPU"));
}

#[test]
fn the_sizes_of_calls_are_told_with_the_most_frequent_first() {
    let mut run = Run::good();
    let sized = |sizes: &[(u64, u64)]| CallTotal {
        bytes: Bytes(sizes.iter().map(|(size, count)| size * count).sum()),
        sizes: sizes.iter().copied().collect(),
        ..CallTotal::default()
    };
    let calls = [
        ("close".to_owned(), CallTotal { count: 9, ..CallTotal::default() }),
        ("readv".to_owned(), sized(&[(1_448, 3), (4_096, 360)])),
        ("writev".to_owned(), sized(&[(8_192, 330), (4_096, 99)])),
    ];
    run.records.calls = (0..2)
        .map(|worker| CallTotals { worker, at_ns: MonoNs(1), calls: calls.clone().into() })
        .collect();
    let told = figure(&run, "calls").unwrap();
    let sizes = [
        "writev 0 us in 0 (0 us asleep): 660 x 8192, 198 x 4096; ",
        "readv 0 us in 0 (0 us asleep): 720 x 4096, 6 x 1448; close ",
    ];
    assert!(sizes.iter().all(|part| told.contains(part)), "{told}");
}

#[test]
fn what_no_record_tells_is_not_made_up() {
    let run = Run::good();
    for name in ["download_log", "calls", "fetch_times", "slow_time"] {
        assert_eq!(figure(&run, name), None, "{name}");
    }
}

#[test]
fn a_whole_download_tells_its_time() {
    let mut run = Run::good();
    run.download(0, 0, 1_000_000);
    let mut analysis = Analysis::of(&run.records);
    analysis.summary.slow.completed_us = vec![Micros(46_000_000)];
    analysis.summary.slow.completed = 1;
    let told = named("slow_time").of(&analysis).unwrap();
    assert!(told.starts_with("46.000 s for "), "{told}");
}
