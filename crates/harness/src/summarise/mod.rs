//! From a run's records to its summary: pure, so that it can be made again at any time.
//!
//! Not for: reading files ([`crate::run_dir`]), the verdict's rules ([`crate::judge`]) or wording
//! for a terminal ([`crate::render`], which does no arithmetic: what it shows is computed here).

mod fetches;
mod histograms;
pub(crate) mod join;
mod latency;
mod proxy;
mod seen;
pub(crate) mod slow;
pub(crate) mod window;
mod workers;

use std::time::Duration;

pub use fetches::response_differs;
pub(crate) use fetches::summary as fetch_summary;
pub use histograms::{interval_log, percentiles, write_histograms};
pub(crate) use seen::blocked;

use records::{Caveat, Micros, Outcome, Phase, SCHEMA_VERSION, Sight, Summary, Verdict};

use crate::explain;
use crate::judge::{self, Baseline, Evidence, Thresholds};
use crate::run_dir::RunRecords;
use join::Join;
use window::{Window, Windows};

/// What a run showed, judged by the default [`Thresholds`].
pub fn summarise(records: &RunRecords) -> Summary {
    let thresholds = Thresholds::default();
    let (mut summary, extra) = figures(records, &thresholds);
    let evidence = Evidence {
        manifest: &records.manifest,
        summary: &summary,
        elapsed_us: extra.elapsed_us,
        measured: extra.measured,
        baseline: extra.baseline,
        never_moved: &extra.never_moved,
        undialled: extra.undialled,
        still: &extra.standing.still,
        broken: extra.standing.broken,
        fetches_missing: extra.fetches_missing,
        records_lost: extra.records_lost,
        answers_unjoined: extra.answers_unjoined,
        untraced: extra.untraced,
        accept_pauses: &extra.accept_pauses,
    };
    let judgement = judge::judge(&evidence, &thresholds);
    let caveats: Vec<Caveat> = judge::caveats(&evidence, &thresholds);
    summary.verdict = judgement.verdict;
    summary.verdict_reasons = judgement.reasons;
    summary.caveats = caveats;
    summary
}

/// What the judge wants to know beyond the summary.
struct Extra {
    elapsed_us: Micros,
    measured: judge::Measured,
    baseline: Baseline,
    never_moved: Vec<u32>,
    undialled: u64,
    standing: slow::Standing,
    fetches_missing: u64,
    records_lost: u64,
    answers_unjoined: u64,
    untraced: Option<judge::Untraced>,
    accept_pauses: Vec<(u32, u64)>,
}

/// All figures; the verdict is left open.
fn figures(records: &RunRecords, thresholds: &Thresholds) -> (Summary, Extra) {
    let windows = Windows::of(records);
    let join = Join::of(records);
    let holders = slow::holders(&join, &windows);
    let mut proxy = proxy::statuses(records, &join);
    proxy.workers = workers::summaries(records, &join, &windows, &holders);
    proxy.calls = seen::calls(records);
    let proxy_cpu = records.manifest.proxy_cpu_ms;
    proxy.cpu_us = proxy_cpu.map(|span| Micros(span.moved().saturating_mul(1_000)));
    if let Some(loaded) = windows.loaded {
        proxy.blocked = blocked(records, loaded);
        proxy.absences = seen::absences(records, loaded);
    }
    let untraced = proxy::untraced(records, &join, &windows, thresholds.unjoined_share);
    if untraced.is_some() {
        workers::forget_steps(&mut proxy.workers);
    }
    let idle = fetches::summary(&records.fetches, Phase::Idle);
    let measure = fetches::summary(&records.fetches, Phase::Measure);
    let baseline = Baseline::of(&records.fetches, &idle, records.manifest.arm.cap_us, thresholds);
    let extra = Extra {
        elapsed_us: windows.run.length().into(),
        measured: match windows.measure {
            Some(_) => judge::Measured::Began,
            None => judge::Measured::Never,
        },
        baseline,
        never_moved: slow::never_moved(records),
        undialled: slow::undialled(records),
        standing: slow::standing(records, &windows),
        fetches_missing: fetches::missing(&records.fetches),
        records_lost: workers::records_lost(records),
        answers_unjoined: proxy::answers_unjoined(records, &join),
        untraced,
        accept_pauses: workers::accept_pauses(records),
    };
    let mut slow = slow::summary(records, &windows, &holders, &join);
    let fetched =
        measure.outcomes.count(Outcome::Ok).saturating_mul(records.manifest.arm.fetch_size.0);
    let moved_gb = (slow.bytes.0.saturating_add(fetched)) as f64 / 1e9;
    proxy.cpu_us_per_gb = proxy.cpu_us.and_then(|cpu| {
        Duration::try_from_secs_f64(cpu.as_secs() / moved_gb).ok().map(Micros::from)
    });
    let explained = explain::explain(records, &join, &idle, &baseline);
    let median = Micros(measure.latency_us.p50);
    let mut law = explain::law(records, &join, &windows, median);
    let mut sight = records.manifest.sight;
    if untraced.is_some() {
        (slow.bytes_per_step, law, sight) = (None, None, Sight::ClientsOnly);
    }
    let summary = Summary {
        schema_version: SCHEMA_VERSION,
        verdict: Verdict::Inconclusive,
        verdict_reasons: Vec::new(),
        caveats: Vec::new(),
        interrupted: records.manifest.interrupted.clone(),
        arm: records.manifest.arm.clone(),
        program: records.manifest.program.clone(),
        sight,
        measured_us: windows.measure.map(Window::length).unwrap_or_default().into(),
        idle,
        measure,
        slow,
        causes: explained.causes,
        late: explained.late,
        law,
        log_truth: explain::log_truth(records, &join),
        log_gap: proxy::log_gap(records, &join),
        proxy,
    };
    (summary, extra)
}

#[cfg(test)]
mod tests;
