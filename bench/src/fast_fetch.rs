//! What a small fetch suffers beside downloads, by the proxy's settings: `fast_fetch/<arm>/<listener>`.
//!
//! Each arm is one trial, `turnstile run`, started before its first sample and only if the arm is not
//! filtered out. One iteration is the next fetch of its measure phase in the order of starts, and
//! criterion's time of it is the fetch's own, also where the cap ended it.
//!
//! Not for: saying that two arms differ. Samples of one run share its downloads, and are no
//! independent runs.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use analysis::guard::arm_row;
use anyhow::{Context, anyhow, bail, ensure};
use criterion::{BenchmarkId, Criterion, SamplingMode};
use harness::live::LiveTrial;
use records::run_dir::FETCHES;
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

/// So short that criterion takes one iteration a sample: then its distribution is that of single
/// fetches, not of their means. Longer than a second, so that a capped first fetch does not stand
/// for all when it estimates how long the samples will take.
const WARM_UP: Duration = Duration::from_millis(1_200);

/// As short for the same reason: 80 ms a sample, where a fetch is due every 100 ms.
const MEASUREMENT: Duration = Duration::from_secs(8);

/// A fifth of criterion's default, and ample for 100 samples: the load runs on while criterion
/// resamples, and makes that slow.
const RESAMPLES: usize = 20_000;

/// How long the next fetch may take to be recorded: the first comes after setup, idle phase and the
/// start of the downloads.
const STALLED_AFTER: Duration = Duration::from_secs(60);

/// Time between two looks at what the trial has written, which it does every 200 ms.
const LOOK: Duration = Duration::from_millis(20);

/// Every arm with a shared listener and with one a worker, then a table of the trials that ran. Their
/// run directories are kept in `fast_fetch` in `place`.
///
/// # Panics
/// A trial cannot be run. When all have run: one of them proves nothing.
pub fn benchmarks(c: &mut Criterion, host: &Host, place: &Path) {
    let mut rows = Vec::new();
    let mut inconclusive = Vec::new();
    let mut group = c.benchmark_group("fast_fetch");
    group
        .sample_size(SAMPLES)
        .sampling_mode(SamplingMode::Flat)
        .warm_up_time(WARM_UP)
        .nresamples(RESAMPLES)
        .measurement_time(MEASUREMENT);
    let all = ARMS.iter().flat_map(|arm| LISTENERS.iter().map(move |listener| (arm, listener)));
    for ((arm, options), (listener, option)) in all {
        let name = format!("{arm}/{listener}");
        let mut fetches: Option<Fetches> = None;
        group.bench_function(BenchmarkId::new(*arm, listener), |bencher| {
            let place = place.join("fast_fetch").join(format!("{arm}-{listener}"));
            let start = || Fetches::start(&format!("{options} {option}"), &place, host);
            let fetches = fetches.get_or_insert_with(|| or_panic(start()));
            bencher.iter_custom(|count| or_panic(fetches.time_of(count)));
        });
        if let Some(fetches) = fetches {
            let summary = or_panic(fetches.finish().with_context(|| name.clone()));
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

/// The fetches of a trial that runs.
struct Fetches {
    trial: LiveTrial,
    /// What it told, until that is taken.
    records: RunRecords,
    /// The number of the next one.
    next: u64,
    /// Those that ended before one that had started earlier: in the order of their ends, the slow ones
    /// would come last, and be missing when the samples are complete.
    ended: BTreeMap<u64, Fetch>,
}

impl Fetches {
    /// Starts a trial of this arm, with the defaults of a trial otherwise. Only its measure phase has no
    /// end of its own, and its idle phase has no more than the fetches that a baseline needs.
    fn start(arm: &str, place: &Path, host: &Host) -> anyhow::Result<Self> {
        let idle = if is_test() { "1s" } else { "2200ms" };
        let options = format!("--idle {idle} --duration 1h {arm}");
        let options: Vec<String> = options.split_whitespace().map(str::to_owned).collect();
        match fs::remove_dir_all(place) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let start = || LiveTrial::start(&options, place, [FETCHES]);
        let trial = host.own.lifted(start).context("failed to start a trial")?;
        Ok(Self { trial, records: RunRecords::default(), next: 0, ended: BTreeMap::new() })
    }

    /// The time of the next `count` fetches together.
    fn time_of(&mut self, count: u64) -> anyhow::Result<Duration> {
        (0..count).map(|_| self.next().map(|fetch| fetch.total_us.as_duration())).sum()
    }

    fn next(&mut self) -> anyhow::Result<Fetch> {
        let deadline = Instant::now() + STALLED_AFTER;
        loop {
            if let Some(fetch) = self.ended.remove(&self.next) {
                self.next += 1;
                let Fetch { fetch: number, outcome, total_us, .. } = fetch;
                ensure!(
                    outcome == Outcome::Ok || outcome.is_censored(),
                    "fetch {number} ended as {outcome} after {total_us}: the proxy, the origin or \
                     this host failed, and its time is no latency"
                );
                return Ok(fetch);
            }
            ensure!(Instant::now() < deadline, "no fetch ended within {STALLED_AFTER:?}");
            if self.trial.ends_within(LOOK) {
                bail!("the trial has ended before its time: see its summary, if it made one");
            }
            self.trial.read(&mut self.records);
            for fetch in self.records.fetches.drain(..) {
                if fetch.phase == Phase::Measure {
                    self.ended.insert(fetch.fetch, fetch);
                }
            }
        }
    }

    /// Ends the load: what the trial says of all its fetches.
    fn finish(self) -> anyhow::Result<Box<Summary>> {
        self.trial.end_phase();
        self.trial.end().map_err(|why| anyhow!("the trial failed: {why}"))
    }
}
