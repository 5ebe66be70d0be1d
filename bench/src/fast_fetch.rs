//! What a small fetch suffers beside downloads, by the proxy's settings: `fast_fetch/<arm>/<listener>`.
//!
//! One iteration is the next fetch of a trial's measure phase in the order of starts, and criterion's time of
//! it is the fetch's own, also where the cap ended it.
//!
//! Not for: saying that two arms differ. Samples of one run share its downloads, and are no
//! independent runs.

use std::path::Path;
use std::time::Duration;

use analysis::guard::arm_row;
use anyhow::{Context, ensure};
use criterion::{BenchmarkId, Criterion};
use harness::live::OwnCpus;
use records::{Fetch, Outcome, Phase, Verdict};
use report::arms_markdown;

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

/// Every arm with a shared listener and with one a worker, then a table of the trials that ran. Their
/// run directories are kept in `fast_fetch` in `place`.
///
/// # Panics
/// A trial cannot be run. When all have run: one of them proves nothing.
pub fn benchmarks(c: &mut Criterion, cpus: &OwnCpus, place: &Path) {
    let (mut rows, mut inconclusive) = (Vec::new(), Vec::new());
    let mut group = crate::group(c, "fast_fetch", SAMPLES);
    // An idle phase of no more fetches than a baseline needs, and some more under load than the samples.
    let phases = if crate::is_test() { "1s --duration 1s" } else { "2200ms --duration 11s" };
    let all = ARMS.iter().flat_map(|arm| LISTENERS.iter().map(move |listener| (arm, listener)));
    for ((arm, options), (listener, option)) in all {
        let name = format!("{arm}/{listener}");
        let place = place.join("fast_fetch").join(format!("{arm}-{listener}"));
        let options = format!("--idle {phases} {options} {option}");
        crate::measure(&mut group, BenchmarkId::new(*arm, listener), || {
            let (summary, records) =
                crate::run(&options, &place, cpus).with_context(|| name.clone())?;
            if summary.verdict == Verdict::Inconclusive {
                inconclusive.push(format!("{name}: {}", summary.verdict_reasons.join("; ")));
            }
            rows.push(arm_row(&name, &[&*summary]));
            times(records.fetches)
        });
    }
    group.finish();
    if !rows.is_empty() {
        say(&arms_markdown(&rows));
    }
    // With a fetch or two, as for `--test`, no trial proves anything.
    if !crate::is_test() {
        assert!(inconclusive.is_empty(), "no measurement: {}", inconclusive.join("\n"));
    }
}

#[expect(clippy::print_stdout, reason = "the result of the group, beside criterion's own")]
fn say(table: &str) {
    println!("\n{table}");
}

/// The times of the fetches under load, in the order of their starts.
fn times(mut fetches: Vec<Fetch>) -> anyhow::Result<Vec<Duration>> {
    fetches.retain(|fetch| fetch.phase == Phase::Measure);
    fetches.sort_by_key(|fetch| fetch.fetch);
    let time = |Fetch { fetch, outcome, total_us, .. }: &Fetch| {
        ensure!(
            *outcome == Outcome::Ok || outcome.is_censored(),
            "fetch {fetch} ended as {outcome} after {total_us}: the proxy, the origin or this host \
             failed, and its time is no latency"
        );
        Ok(total_us.as_duration())
    };
    fetches.iter().map(time).collect()
}
