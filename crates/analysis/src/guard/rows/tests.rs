use records::{Micros, Outcome, Summary, Verdict};

use super::{arm_row, median};
use crate::summarise;
use testkit::fixture::Run;

fn run(failed: u64, us: u64) -> Summary {
    let fetches = [(80 - failed, Outcome::Ok, us), (failed, Outcome::TimeoutNoByte, 1_000_000)];
    summarise(&Run::loaded(&fetches).records)
}

#[test]
fn a_row_counts_over_all_trials_and_takes_the_middle_run() {
    let trials = [run(0, 10_000), run(40, 20_000), run(4, 30_000)];
    let trials: Vec<&Summary> = trials.iter().collect();
    let row = arm_row("drain", &trials);
    assert_eq!((row.trials, row.attempts, row.tried, row.failed), (3, 240, 240, 44));
    assert_eq!(row.verdicts.values().sum::<u64>(), 3);
    assert_eq!(row.verdicts[&Verdict::Starved], 2);
    let p50 = trials.iter().map(|summary| summary.measure.latency_us.p50);
    assert_eq!(row.p50, Micros(median(p50).unwrap()));
    assert!(row.max >= Micros(1_000_000), "{row:?}");
    assert_eq!(row.cpu_per_gb, None);
}

#[test]
fn early_closes_are_those_of_logs() {
    let (logged, mut unlogged) = (run(4, 10_000), run(40, 10_000));
    assert_eq!(arm_row("drain", &[&logged, &logged]).early_closes, Some(8));
    unlogged.proxy = records::ProxySummary::default();
    assert_eq!(arm_row("exec", &[&unlogged]).early_closes, None);
    assert_eq!(arm_row("both", &[&logged, &unlogged]).early_closes, Some(4));
}

#[test]
fn an_arm_without_trials_has_a_row_of_nothing() {
    let row = arm_row("none", &[]);
    assert_eq!((row.trials, row.p50, row.longest_step), (0, Micros(0), None));
}
