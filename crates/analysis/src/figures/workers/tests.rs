//! Holds by window, totals where there is no hold, and counters between two samples.

use records::{Bytes, Micros, SchedulerFigures, StepEnd, WorkerSummary, WorkerTotals};

use crate::summarise;
use testkit::fixture::{Run, at_ms};

fn worker(run: &Run, number: u32) -> WorkerSummary {
    let summary = summarise(&run.records);
    summary.proxy.workers.into_iter().find(|row| row.worker == number).expect("a row")
}

#[test]
fn only_holds_that_touch_the_load_count_and_with_their_whole_length() {
    let mut run = Run::good();
    run.hold(0, 1_000, 2_900, Bytes::mib(9)); // while idle
    run.hold(0, 4_500, 700, Bytes::mib(2)); // from the load into the measure phase
    run.hold(0, 12_900, 1_050, Bytes::mib(3)); // outlasts the load
    run.hold(0, 13_500, 3_000, Bytes::mib(4)); // begun after it
    run.hold(1, 6_000, 20, Bytes::kib(64));
    let row = worker(&run, 0);
    assert_eq!(row.holds, 2);
    assert_eq!((row.longest_step_us, row.longest_step_bytes), (1_050_000, 3 << 20));
    assert_eq!(row.longest_step_ended_by, Some(StepEnd::UpstreamEmpty));
    assert_eq!(row.longest_loop_turn_us, 1_050_000);
    assert_eq!(worker(&run, 1).longest_step_us, 20_000);
}

#[test]
fn without_a_hold_the_totals_tell_the_longest_step() {
    let run = Run::good();
    let row = worker(&run, 0);
    assert_eq!((row.holds, row.longest_step_us, row.longest_loop_turn_us), (0, 3_100, 3_400));
    assert_eq!(row.longest_step_ended_by, None);
}

/// The totals' longest step was the hold while idle: under load there was none, and no length of a
/// shorter one is known.
#[test]
fn a_longest_step_from_elsewhere_is_not_taken_for_one_under_load() {
    let mut run = Run::good();
    run.hold(0, 1_000, 900, Bytes::mib(9));
    run.records.totals[0].longest_step_us = Micros(900_000);
    run.records.totals[0].longest_turn_us = Micros(900_000);
    let row = worker(&run, 0);
    assert_eq!((row.longest_step_us, row.longest_step_bytes, row.longest_loop_turn_us), (0, 0, 0));
    // Unless records were lost: then it may be the very one that is missing.
    run.records.totals[0].records_lost = 1;
    assert_eq!(worker(&run, 0).longest_step_us, 900_000);
}

/// A step that no hold tells of is not short for that.
#[test]
fn a_longest_step_without_its_hold_is_told() {
    let mut run = Run::good();
    run.hold(0, 6_000, 20, Bytes::kib(64));
    run.records.holds.clear();
    run.records.totals[0].longest_step_us = Micros(900_000);
    assert_eq!(worker(&run, 0).longest_step_us, 900_000);
}

#[test]
fn steps_are_those_between_the_totals_around_the_load() {
    let mut run = Run::good();
    run.records.totals.clear();
    for (ms, steps) in [(3_000, 100), (4_000, 150), (8_000, 900), (13_100, 1_500), (14_000, 1_600)]
    {
        let at_ns = at_ms(ms);
        run.records.totals.push(WorkerTotals { at_ns, steps, ..WorkerTotals::default() });
    }
    assert_eq!(worker(&run, 0).steps, 1_350);
}

#[test]
fn totals_from_the_end_alone_count_from_the_start() {
    assert_eq!(worker(&Run::good(), 0).steps, 4_200);
}

#[test]
fn shares_and_switches_are_those_of_the_measure_phase() {
    let mut run = Run::good();
    // Another pace before: it must not show.
    for sample in run.records.samples.iter_mut().filter(|sample| sample.at_ns < at_ms(5_000)) {
        (sample.user_ms, sample.run_ns, sample.voluntary_switches) = (0, Some(0), 0);
    }
    let row = worker(&run, 0);
    let near = |share: f64, wanted: f64| (share - wanted).abs() < 1e-9;
    assert!(near(row.user_share, 0.04) && near(row.system_share, 0.58), "{row:?}");
    assert!(near(row.cpu_share, 0.62) && near(row.wait_share, 0.013), "{row:?}");
    assert_eq!(row.run_wait_us, 104_000);
    assert_eq!((row.voluntary_switches, row.involuntary_switches), (8 * 179, 8 * 50));
    assert!(near(row.voluntary_per_sec, 179.0) && near(row.involuntary_per_sec, 50.0), "{row:?}");
    assert_eq!(row.scheduler, SchedulerFigures::All);
}

#[test]
fn hidden_figures_are_told_as_hidden() {
    let mut run = Run::good();
    for sample in &mut run.records.samples {
        (sample.run_ns, sample.run_wait_ns) = (None, None);
    }
    let row = worker(&run, 0);
    assert_eq!(row.scheduler, SchedulerFigures::NoWait);
    assert!((row.cpu_share - 0.62).abs() < 1e-9, "from ticks: {row:?}");
    run.records.samples.retain(|sample| sample.at_ns <= at_ms(5_000));
    assert_eq!(worker(&run, 0).scheduler, SchedulerFigures::None);
}

#[test]
fn sessions_are_those_accepted_under_load() {
    let run = Run::starved();
    // 40 of the 80 fetches under load, and two downloads; none of the idle fetches.
    assert_eq!(worker(&run, 0).sessions, 42);
    assert_eq!(worker(&run, 0).downloads, 2);
}
