//! A campaign in a table: a row for each arm, made from the summaries of its trials.

use std::collections::BTreeMap;
use std::ops::Add;

use records::{ArmRow, Bytes, BytesPerSec, Micros, Summary, WorkerSummary};
use stats::median_whole as median;

/// The row of the arm `name` with these trials.
pub fn arm_row(name: &str, trials: &[&Summary]) -> ArmRow {
    let micros = |figure: fn(&Summary) -> u64| {
        Micros(median(trials.iter().map(|summary| figure(summary))).unwrap_or(0))
    };
    let mut verdicts = BTreeMap::new();
    for summary in trials {
        *verdicts.entry(summary.verdict).or_insert(0) += 1;
    }
    let longest = |figure: fn(&WorkerSummary) -> u64| {
        let workers = trials.iter().flat_map(|summary| &summary.proxy.workers);
        workers.map(figure).max().filter(|longest| *longest > 0).map(Micros)
    };
    let sum = |figure: fn(&Summary) -> u64| trials.iter().map(|summary| figure(summary)).sum();
    let shares = trials.iter().map(|summary| {
        let shares = summary.proxy.workers.iter().map(|worker| worker.cpu_share);
        // In millionths, so that they have an order.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 256")]
        let share = (shares.sum::<f64>() * 1e6) as u64;
        share
    });
    ArmRow {
        name: name.to_owned(),
        trials: trials.len() as u64,
        verdicts,
        attempts: sum(|summary| summary.measure.attempts),
        tried: sum(|summary| summary.measure.outcomes.tried()),
        failed: sum(|summary| summary.measure.outcomes.failed()),
        early_closes: trials.iter().filter_map(|s| s.proxy.logged_early_closes()).reduce(u64::add),
        idle_p50: micros(|summary| summary.idle.latency_us.p50),
        p50: micros(|summary| summary.measure.latency_us.p50),
        p90: micros(|summary| summary.measure.latency_us.p90),
        p99: micros(|summary| summary.measure.latency_us.p99),
        max: Micros(trials.iter().map(|s| s.measure.latency_us.max).max().unwrap_or(0)),
        slow_rate: BytesPerSec(median(trials.iter().map(|s| s.slow.bytes_per_sec.0)).unwrap_or(0)),
        longest_step: longest(|worker| worker.longest_step_us),
        longest_turn: longest(|worker| worker.longest_loop_turn_us),
        bytes_per_step: median(
            trials.iter().filter_map(|s| s.slow.bytes_per_step.map(|bytes| bytes.0)),
        )
        .map(Bytes),
        cpu_per_gb: median(trials.iter().filter_map(|s| s.proxy.cpu_us_per_gb.map(|cpu| cpu.0)))
            .map(Micros),
        cpu_share: median(shares).filter(|share| *share > 0).map(|share| share as f64 / 1e6),
        version: trials
            .iter()
            .find_map(|s| s.program.as_ref().map(|program| program.version.clone())),
    }
}
