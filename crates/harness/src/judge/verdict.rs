//! The verdict's rules, in the order in which they apply.

use records::{FetchSummary, Micros, Verdict};

use super::evidence::Evidence;
use super::preconditions;
use super::thresholds::Thresholds;
use super::wording::{measured_when, percent};

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
    let rules = Rules::of(evidence, thresholds);
    let starved = rules.starved();
    if !starved.is_empty() {
        return Judgement { verdict: Verdict::Starved, reasons: starved };
    }
    match rules.slow_tail() {
        Some(reason) => {
            Judgement { verdict: Verdict::Degraded, reasons: vec![reason, rules.few_failed()] }
        }
        None => Judgement {
            verdict: Verdict::Healthy,
            reasons: vec![rules.few_failed(), rules.as_idle()],
        },
    }
}

/// Whether the fetches say that the run is starved, if its preconditions hold.
pub(super) fn looks_starved(evidence: &Evidence<'_>, thresholds: &Thresholds) -> bool {
    !Rules::of(evidence, thresholds).starved().is_empty()
}

/// Both phases of a run whose preconditions hold.
struct Rules<'a> {
    idle: &'a FetchSummary,
    measure: &'a FetchSummary,
    when: &'static str,
    thresholds: &'a Thresholds,
}

impl<'a> Rules<'a> {
    fn of(evidence: &Evidence<'a>, thresholds: &'a Thresholds) -> Self {
        Self {
            idle: &evidence.summary.idle,
            measure: &evidence.summary.measure,
            when: measured_when(&evidence.manifest.arm),
            thresholds,
        }
    }

    fn starved(&self) -> Vec<String> {
        self.many_failed().into_iter().chain(self.slow_median()).collect()
    }

    fn many_failed(&self) -> Option<String> {
        (self.failed_share() >= self.thresholds.starved_share).then(|| self.failed())
    }

    /// What this host could not try is no failure of the proxy.
    fn failed_share(&self) -> f64 {
        self.measure.outcomes.tried_failed_share().unwrap_or(0.0)
    }

    fn few_failed(&self) -> String {
        match self.measure.outcomes.tried_failed() {
            0 => format!(
                "none of {} fetches {} failed (starved from {})",
                self.measure.outcomes.tried(),
                self.when,
                percent(self.thresholds.starved_share)
            ),
            _ => self.failed(),
        }
    }

    fn failed(&self) -> String {
        format!(
            "{} of {} fetches {} failed ({}; starved from {})",
            self.measure.outcomes.tried_failed(),
            self.measure.outcomes.tried(),
            self.when,
            percent(self.failed_share()),
            percent(self.thresholds.starved_share)
        )
    }

    fn slow_median(&self) -> Option<String> {
        let Thresholds { starved_p50_factor: factor, starved_p50_floor: floor, .. } =
            *self.thresholds;
        let (idle, loaded) = (self.idle.latency_us.p50, self.measure.latency_us.p50);
        beyond(idle, loaded, factor, floor).then(|| {
            let finding = self.finding("p50", idle, loaded);
            format!("{finding} (starved from {factor} x and {floor})")
        })
    }

    fn slow_tail(&self) -> Option<String> {
        let Thresholds { degraded_p99_factor: factor, degraded_p99_floor: floor, .. } =
            *self.thresholds;
        let (idle, loaded) = (self.idle.latency_us.p99, self.measure.latency_us.p99);
        beyond(idle, loaded, factor, floor).then(|| {
            let finding = self.finding("p99", idle, loaded);
            format!("{finding} (degraded from {factor} x and {floor})")
        })
    }

    fn as_idle(&self) -> String {
        let (factor, floor) =
            (self.thresholds.degraded_p99_factor, self.thresholds.degraded_p99_floor);
        let finding = self.finding("p99", self.idle.latency_us.p99, self.measure.latency_us.p99);
        format!("{finding} (degraded from {factor} x and {floor})")
    }

    /// A percentile of both phases, and how many times the one is of the other.
    fn finding(&self, name: &str, idle: u64, loaded: u64) -> String {
        let times = match loaded.checked_div(idle) {
            Some(times @ 2..) => format!(", {times} x"),
            _ => String::new(),
        };
        format!("{name} {} is {}, idle {}{times}", self.when, Micros(loaded), Micros(idle))
    }
}

/// Whether a percentile is at or above both `factor` times its idle value and `floor`.
fn beyond(idle: u64, loaded: u64, factor: u64, floor: Micros) -> bool {
    loaded >= idle.saturating_mul(factor).max(floor.0)
}
