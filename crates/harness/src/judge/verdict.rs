//! The verdict's rules, in the order in which they apply.

use records::{FetchSummary, Micros, Verdict};

use super::evidence::Evidence;
use super::preconditions;
use super::thresholds::Thresholds;
use super::wording::percent;

/// A verdict and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// What the run proves.
    pub verdict: Verdict,
    /// Sentences with figures and the threshold applied, the weightiest first; never empty.
    pub reasons: Vec<String>,
}

/// Judges a run: preconditions first, then `starved`, `degraded`, `healthy`.
pub fn judge(evidence: &Evidence<'_>, thresholds: &Thresholds) -> Judgement {
    let against = preconditions::failed(evidence, thresholds);
    if !against.is_empty() {
        return Judgement { verdict: Verdict::Inconclusive, reasons: against };
    }
    let (idle, measure) = (&evidence.summary.idle, &evidence.summary.measure);
    let starved: Vec<String> =
        [many_failed(measure, thresholds), slow_median(idle, measure, thresholds)]
            .into_iter()
            .flatten()
            .collect();
    if !starved.is_empty() {
        return Judgement { verdict: Verdict::Starved, reasons: starved };
    }
    let few = few_failed(measure, thresholds);
    match slow_tail(idle, measure, thresholds) {
        Some(reason) => Judgement { verdict: Verdict::Degraded, reasons: vec![reason, few] },
        None => Judgement {
            verdict: Verdict::Healthy,
            reasons: vec![few, as_idle(idle, measure, thresholds)],
        },
    }
}

fn many_failed(measure: &FetchSummary, thresholds: &Thresholds) -> Option<String> {
    (measure.failed_share >= thresholds.starved_share).then(|| {
        format!(
            "{} of {} fetches under load failed ({}; starved from {})",
            measure.outcomes.failed(),
            measure.attempts,
            percent(measure.failed_share),
            percent(thresholds.starved_share)
        )
    })
}

fn few_failed(measure: &FetchSummary, thresholds: &Thresholds) -> String {
    let limit = percent(thresholds.starved_share);
    match measure.outcomes.failed() {
        0 => format!("none of {} fetches under load failed (starved from {limit})", measure.attempts),
        failed => format!(
            "{failed} of {} fetches under load failed ({}; starved from {limit})",
            measure.attempts,
            percent(measure.failed_share)
        ),
    }
}

fn slow_median(
    idle: &FetchSummary,
    measure: &FetchSummary,
    thresholds: &Thresholds,
) -> Option<String> {
    let (factor, floor) = (thresholds.starved_p50_factor, thresholds.starved_p50_floor);
    beyond("p50", idle.latency_us.p50, measure.latency_us.p50, factor, floor)
        .map(|finding| format!("{finding} (starved from {factor} x, at least {floor})"))
}

fn slow_tail(
    idle: &FetchSummary,
    measure: &FetchSummary,
    thresholds: &Thresholds,
) -> Option<String> {
    let (factor, floor) = (thresholds.degraded_p99_factor, thresholds.degraded_p99_floor);
    beyond("p99", idle.latency_us.p99, measure.latency_us.p99, factor, floor)
        .map(|finding| format!("{finding} (degraded from {factor} x, at least {floor})"))
}

/// The finding that a percentile is at or above both `factor` times its idle value and `floor`.
fn beyond(name: &str, idle: u64, loaded: u64, factor: u64, floor: Micros) -> Option<String> {
    if loaded < idle.saturating_mul(factor).max(floor.0) {
        return None;
    }
    let (loaded_us, idle_us) = (Micros(loaded), Micros(idle));
    let times = loaded.checked_div(idle).map(|times| format!(", {times} x")).unwrap_or_default();
    Some(format!("{name} under load is {loaded_us} against {idle_us} idle{times}"))
}

fn as_idle(idle: &FetchSummary, measure: &FetchSummary, thresholds: &Thresholds) -> String {
    format!(
        "p50 under load is {} against {} idle, p99 {} against {} (degraded from {} x, at least {})",
        Micros(measure.latency_us.p50),
        Micros(idle.latency_us.p50),
        Micros(measure.latency_us.p99),
        Micros(idle.latency_us.p99),
        thresholds.degraded_p99_factor,
        thresholds.degraded_p99_floor
    )
}
