//! What a small fetch suffers beside downloads, by the proxy's settings: `fast_fetch/<arm>/<listener>`.
//!
//! Each arm is one trial, `turnstile run`, run before its first sample and only if the arm is not
//! filtered out. One iteration is the next fetch of its measure phase in the order of starts, and
//! criterion's time of it is the fetch's own, also where the cap ended it.
//!
//! Not for: saying that two arms differ. Samples of one run share its downloads, and are no
//! independent runs.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;
use std::vec::IntoIter;

use analysis::guard::arm_row;
use anyhow::{Context, anyhow, ensure};
use criterion::{BenchmarkId, Criterion, SamplingMode};
use harness::live::{LiveTrial, run_in};
use records::{Fetch, Outcome, Phase, RunRecords, Summary, Verdict};
use report::arms_markdown;

use crate::{Host, or_panic};

/// The settings that are compared, as the options of a trial: the host's own baseline; reading until
/// there is no more; a receive buffer that a worker can empty, as published; what nginx does from 1.17.5
/// on; a quota of 16 reads.
const ARMS: [(&str, &str); 5] = [
    ("idle", "--slow 0"),
    ("drain", ""),
    ("drain+rcvbuf", "--rcvbuf 40960"),
    ("fionread", "--read-policy fionread"),
    ("bytes:64KiB", "--read-policy bytes:64KiB"),
];

/// How workers share the port.
const LISTENERS: [(&str, &str); 2] = [("shared", ""), ("reuseport", "--reuseport")];

/// Samples of an arm, each a fetch: 10 s at the rate of a trial.
const SAMPLES: usize = 100;

/// As good as none: criterion takes one iteration a sample then, so that its distribution is that of single
/// fetches, not of their means.
const NO_TIME: Duration = Duration::from_nanos(1);

/// Every arm with a shared listener and with one a worker, then a table of the trials that ran. Their
/// run directories are kept in `fast_fetch` in `place`.
///
/// # Panics
/// A trial cannot be run. When all have run: one of them proves nothing.
pub fn benchmarks(c: &mut Criterion, host: &Host, place: &Path) {
    let (mut rows, mut inconclusive) = (Vec::new(), Vec::new());
    let mut group = c.benchmark_group("fast_fetch");
    group
        .sample_size(SAMPLES)
        .sampling_mode(SamplingMode::Flat)
        .warm_up_time(NO_TIME)
        .measurement_time(NO_TIME);
    let all = ARMS.iter().flat_map(|arm| LISTENERS.iter().map(move |listener| (arm, listener)));
    for ((arm, options), (listener, option)) in all {
        let name = format!("{arm}/{listener}");
        let mut trial = None;
        group.bench_function(BenchmarkId::new(*arm, listener), |bencher| {
            let place = place.join("fast_fetch").join(format!("{arm}-{listener}"));
            let run = || run(&format!("{options} {option}"), &place, host).context(name.clone());
            let (_, times) = trial.get_or_insert_with(|| or_panic(run()));
            let mut next = || times.next().context("the trial had too few fetches");
            bencher.iter_custom(|count| or_panic((0..count).map(|_| next()).sum()));
        });
        if let Some((summary, _)) = trial {
            if summary.verdict == Verdict::Inconclusive {
                inconclusive.push(format!("{name}: {}", summary.verdict_reasons.join("; ")));
            }
            rows.push(arm_row(&name, &[&*summary]));
        }
    }
    group.finish();
    if !rows.is_empty() {
        say(&arms_markdown(&rows));
    }
    // With a fetch or two, as for `--test`, no trial proves anything.
    if !is_test() {
        assert!(inconclusive.is_empty(), "no measurement: {}", inconclusive.join("\n"));
    }
}

/// Whether criterion only tries whether every benchmark works.
fn is_test() -> bool {
    std::env::args_os().any(|word| word == "--test")
}

#[expect(clippy::print_stdout, reason = "the result of the group, beside criterion's own")]
fn say(table: &str) {
    println!("\n{table}");
}

/// Runs a trial of this arm, with the defaults of a trial otherwise: what it says of all its fetches, and the
/// times of those under load in the order of their starts. Its idle phase has no more than the fetches that a
/// baseline needs, its measure phase some more than the samples.
fn run(arm: &str, place: &Path, host: &Host) -> anyhow::Result<(Box<Summary>, IntoIter<Duration>)> {
    let phases = if is_test() { ["1s", "1s"] } else { ["2200ms", "11s"] };
    let options = format!("--idle {} --duration {} {arm}", phases[0], phases[1]);
    let options: Vec<String> = options.split_whitespace().map(str::to_owned).collect();
    match fs::remove_dir_all(place) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let start = || LiveTrial::start(&options, place, []);
    let trial = host.own.lifted(start).context("failed to start a trial")?;
    let summary = trial.end().map_err(|why| anyhow!("the trial failed: {why}"))?;
    let dir = run_in(place).context("the trial left no run")?;
    let mut fetches = RunRecords::load(&dir)?.fetches;
    fetches.retain(|fetch| fetch.phase == Phase::Measure);
    fetches.sort_by_key(|fetch| fetch.fetch);
    for Fetch { fetch, outcome, total_us, .. } in &fetches {
        ensure!(
            *outcome == Outcome::Ok || outcome.is_censored(),
            "fetch {fetch} ended as {outcome} after {total_us}: the proxy, the origin or this host \
             failed, and its time is no latency"
        );
    }
    let times: Vec<Duration> = fetches.iter().map(|fetch| fetch.total_us.as_duration()).collect();
    Ok((summary, times.into_iter()))
}
