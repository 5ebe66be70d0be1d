//! Criterion benchmarks: what a small fetch suffers beside downloads, by the proxy's settings, and
//! of the data plane what a byte costs on its way.
//!
//! Each is of a trial, `turnstile run`, run before its first sample and only if it is not filtered out: real
//! processes, on ports that the kernel chose, on CPUs of their own. Criterion is given times from the
//! trial's records, and computes while nothing is measured.
//!
//! Not for: verdicts. Whether a setting starves its fetches is a trial's to say, and whether two
//! settings differ is a comparison's.
//!
//! Invariants:
//! - Nothing is measured but the code that is shipped; no role knows that it is measured.
//! - A time comes from the records of the client that received the bytes.
//! - A load that stands still, or a role that ends, fails the benchmark.

pub mod data_plane;
pub mod fast_fetch;

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, SamplingMode};
use harness::live::{LiveTrial, OwnCpus, run_in};
use records::{Pin, ProxyToggles, RunRecords, Summary};
use trial::cpu_plan::CpuPlan;

/// Whether this process is `turnstile`, started by another of this program: a trial or a role. Cargo
/// adds `--bench` for people, who may mean a filter by such a word.
pub fn is_turnstile() -> bool {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let starts = args.first().is_some_and(|word| word == "run" || word == "play");
    starts && !args.iter().any(|word| word == "--bench")
}

/// Whether criterion only tries whether every benchmark works.
fn is_test() -> bool {
    std::env::args_os().any(|word| word == "--test")
}

/// Divides the CPUs of this host as a trial does: this process keeps to those of the load.
///
/// # Panics
/// The kernel does not tell which CPUs there are.
pub fn own_cpus() -> OwnCpus {
    let make = || {
        let workers = ProxyToggles::default().workers;
        let plan = CpuPlan::new(&net::cpu::allowed()?, workers, &Pin::Auto)?;
        Ok(OwnCpus::new(plan.load)?)
    };
    or_panic(make())
}

/// A group of which each sample is one time from a trial: criterion takes one iteration a sample where it has
/// no time for more.
fn group<'a>(c: &'a mut Criterion, name: &str, samples: usize) -> BenchmarkGroup<'a, WallTime> {
    const NO_TIME: Duration = Duration::from_nanos(1);
    let mut group = c.benchmark_group(name);
    group
        .sample_size(samples)
        .sampling_mode(SamplingMode::Flat)
        .warm_up_time(NO_TIME)
        .measurement_time(NO_TIME);
    group
}

/// Gives criterion the times that `trial` tells, one after the other.
///
/// # Panics
/// There is no trial, or it has fewer than are asked for.
fn measure(
    group: &mut BenchmarkGroup<'_, WallTime>,
    id: BenchmarkId,
    mut trial: impl FnMut() -> anyhow::Result<Vec<Duration>>,
) {
    let mut times = None;
    group.bench_function(id, |bencher| {
        let times = times.get_or_insert_with(|| or_panic(trial()).into_iter());
        let mut next = || times.next().context("the trial told too few times");
        bencher.iter_custom(|count| or_panic((0..count).map(|_| next()).sum()));
    });
}

/// Runs a trial of these options: what it says of itself, and its records. Its run directory stays in `place`,
/// until the next one there.
fn run(options: &str, place: &Path, cpus: &OwnCpus) -> anyhow::Result<(Box<Summary>, RunRecords)> {
    let options: Vec<String> = options.split_whitespace().map(str::to_owned).collect();
    match fs::remove_dir_all(place) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let start = || LiveTrial::start(&options, place, []);
    let trial = cpus.lifted(start).context("failed to start a trial")?;
    let summary = trial.end().map_err(|why| anyhow!("the trial failed: {why}"))?;
    let dir = run_in(place).context("the trial left no run")?;
    Ok((summary, RunRecords::load(&dir)?))
}

/// Criterion's benchmarks return nothing; a panic unwinds, so the children end with it.
fn or_panic<T>(result: anyhow::Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("failed to measure: {error:#}"))
}
