//! What a byte costs on its way from the origin to the slow client: a standing load, which is downloads that
//! never end, from an origin, through a proxy or not.
//!
//! - `direct_vs_proxied`: whether the load can outrun the proxy; four downloads without and with a draining
//!   one between. Origin and slow client share the CPUs of the load in both. The first figure should be at
//!   least twice the second. If it is not, the proxy of a trial waits for its load: its sockets run empty and
//!   end steps that no setting of its own would end.
//! - `relay`: what a byte costs one worker, by read policy and buffer. One download, so that no policy is paid
//!   for the turns it gives to others.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use criterion::{BenchmarkId, Criterion, Throughput};
use harness::live::OwnCpus;
use records::{Bytes, DownloadInterval, Phase, RunRecords};

/// Each group with its names, and the options of their trials.
const ARMS: [(&str, &str, &str); 8] = [
    ("direct_vs_proxied", "direct", "--slow 4 --proxy direct"),
    ("direct_vs_proxied", "proxied_drain", "--slow 4 --reuseport"),
    ("relay", "drain/4KiB", "--workers 1 --slow 1"),
    ("relay", "short-read/4KiB", "--workers 1 --slow 1 --read-policy short-read"),
    ("relay", "fionread/4KiB", "--workers 1 --slow 1 --read-policy fionread"),
    ("relay", "bytes:64KiB/4KiB", "--workers 1 --slow 1 --read-policy bytes:64KiB"),
    ("relay", "drain/16KiB", "--workers 1 --slow 1 --buffer 16KiB"),
    ("relay", "drain/64KiB", "--workers 1 --slow 1 --buffer 64KiB"),
];

/// What all of them have: downloads of hours at any rate that one core reaches, so none ends; and fetches, by
/// which a trial knows its phases, as small as can be.
const LOAD: &str = "--slow-size 65536GiB --fetch-size 1KiB";

/// What one iteration moves: some 50 ms of a draining proxy on one core.
const ITERATION: Bytes = Bytes::mib(64);

/// Samples of each, which are intervals of 200 ms: 2 s.
const SAMPLES: usize = 10;

/// Both groups. Their run directories are kept in `data_plane` in `place`.
///
/// # Panics
/// A trial cannot be run, or its load stands still: there is no figure then.
pub fn benchmarks(c: &mut Criterion, cpus: &OwnCpus, place: &Path) {
    for name in ["direct_vs_proxied", "relay"] {
        let mut group = crate::group(c, name, SAMPLES);
        group.throughput(Throughput::Bytes(ITERATION.0));
        for (_, arm, options) in ARMS.iter().filter(|(group, ..)| *group == name) {
            let place = place.join("data_plane").join(name).join(arm.replace('/', "-"));
            let length = if crate::is_test() { "1s" } else { "4s" };
            let options = format!("{LOAD} --idle 200ms --duration {length} {options}");
            crate::measure(&mut group, BenchmarkId::from_parameter(arm), || {
                let (summary, records) = crate::run(&options, &place, cpus)?;
                ensure!(summary.slow.broken == 0, "a download broke off: the load does not stand");
                times(&records)
            });
        }
        group.finish();
    }
}

/// How long [`ITERATION`] takes at the rate of each whole interval of the measure phase.
fn times(records: &RunRecords) -> anyhow::Result<Vec<Duration>> {
    let measure = records.manifest.phases.iter().find(|span| span.phase == Phase::Measure);
    let (start, end) = measure
        .and_then(|span| Some((span.start_ns, span.end_ns?)))
        .context("the trial did not come to its measure phase")?;
    let inside = |one: &&DownloadInterval| start <= one.start_ns && one.end_ns <= end;
    let time = |one: &DownloadInterval| {
        let bytes: Bytes = one.bytes.iter().copied().sum();
        ensure!(bytes > Bytes(0), "the load stands still");
        Ok(one.end_ns.since(one.start_ns).mul_f64(ITERATION.0 as f64 / bytes.0 as f64))
    };
    records.intervals.iter().filter(inside).map(time).collect()
}
