//! What a small fetch suffers beside a standing load, by the proxy's settings: `fast_fetch/<arm>`.
//!
//! Each arm has processes of its own, started before its first sample and only if the arm is not
//! filtered out. One iteration is one fetch of the fast client, whose open loop runs on whatever
//! criterion does; criterion's time of it is the fetch's own, also where the cap ended it.
//!
//! Not for: saying that two arms differ. Samples of one run share its downloads, and are no
//! independent runs.

mod arm;
mod output;
mod report;
mod spread;
mod stand;
mod standing;
mod tally;

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, SamplingMode};

pub use output::Output;

use crate::or_panic;
use report::{Completeness, Report};
use stand::Stand;

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

/// `fast_fetch/<arm>/<listener>`, for every arm with a shared listener and with one a worker.
///
/// Then prints a table of the arms that ran, and writes it to `output` after each of them.
///
/// # Panics
/// An arm cannot be measured, or `output` cannot be written.
pub fn benchmarks(c: &mut Criterion, output: &Output) {
    let mut report = Report::default();
    let mut group = c.benchmark_group("fast_fetch");
    group
        .sample_size(SAMPLES)
        .sampling_mode(SamplingMode::Flat)
        .warm_up_time(WARM_UP)
        .nresamples(RESAMPLES)
        .measurement_time(MEASUREMENT);
    for arm in arm::all() {
        let mut stand: Option<Stand> = None;
        group.bench_function(BenchmarkId::new(arm.name(), arm.listener_name()), |bencher| {
            let stand = stand.get_or_insert_with(|| or_panic(Stand::start(&arm)));
            bencher.iter_custom(|iters| or_panic(stand.fetch(iters)));
        });
        if let Some(stand) = stand {
            report.arms.push(or_panic(stand.finish(&arm)));
            or_panic(output.write(&report));
        }
    }
    group.finish();
    if !report.arms.is_empty() {
        report.completeness = Completeness::Complete;
        or_panic(output.write(&report));
        say(&report.table());
    }
}

#[expect(clippy::print_stdout, reason = "the result of the group, beside criterion's own")]
fn say(table: &str) {
    println!("{table}");
}
