//! The rules of a verdict: what the fetches say of a run whose preconditions hold.

use records::{
    Arm, CompletionUs, FetchSummary, Micros, STARVED_SHARE, Verdict, percent, percent_beside,
};

use super::{Facts, measured_when};
use crate::thresholds::{DEGRADED_P99_FACTOR, DEGRADED_P99_FLOOR, STARVED_P50_OF_CAP, part};

/// Times are those by which fetches were done: one that failed never was, however soon it failed.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    idle: CompletionUs,
    measure: CompletionUs,
    /// Under load, of those that could be tried.
    failed: u64,
    tried: u64,
    cap: Micros,
    when: &'static str,
}

impl Rules {
    pub(crate) fn of(facts: &Facts<'_>) -> Self {
        let arm: &Arm = &facts.manifest.arm;
        let (idle, measure) = (&facts.summary.idle, &facts.summary.measure);
        let done = |fetches: &FetchSummary| fetches.completion_us.unwrap_or_default();
        Self {
            idle: done(idle),
            measure: done(measure),
            failed: measure.outcomes.failed(),
            tried: measure.outcomes.tried(),
            cap: arm.fetch.cap,
            when: measured_when(arm),
        }
    }

    /// The same had `failed` of `tried` failed.
    pub(crate) fn had(self, failed: u64, tried: u64) -> Self {
        Self { failed, tried, ..self }
    }

    pub(crate) fn verdict(&self) -> Verdict {
        if self.many_failed() || self.slow_median() {
            Verdict::Starved
        } else if self.failed > 0 || self.slow_tail() {
            Verdict::Degraded
        } else {
            Verdict::Healthy
        }
    }

    /// Why that is the verdict.
    pub(crate) fn reasons(&self) -> Vec<String> {
        match (self.verdict(), self.failed) {
            (Verdict::Starved, _) => {
                let many = self.many_failed().then(|| self.told_failed());
                many.into_iter().chain(self.slow_median().then(|| self.told_p50())).collect()
            }
            (Verdict::Degraded, 0) => vec![self.told_p99(), self.told_failed()],
            _ => vec![self.told_failed(), self.told_p99()],
        }
    }

    fn many_failed(&self) -> bool {
        self.tried > 0 && self.failed_share() >= STARVED_SHARE
    }

    fn failed_share(&self) -> f64 {
        self.failed as f64 / self.tried as f64
    }

    fn slow_median(&self) -> bool {
        self.tried > 0 && self.measure.p50.is_none_or(|us| us >= self.half().0)
    }

    fn half(&self) -> Micros {
        part(self.cap, STARVED_P50_OF_CAP)
    }

    fn slow_tail(&self) -> bool {
        self.tried > 0 && self.measure.p99.is_none_or(|us| us >= self.long().0)
    }

    /// From where on p99 is `degraded`.
    fn long(&self) -> Micros {
        let idle = self.idle.p99.unwrap_or(u64::MAX);
        Micros(idle.saturating_mul(DEGRADED_P99_FACTOR).max(DEGRADED_P99_FLOOR.0))
    }

    fn told_failed(&self) -> String {
        let (Self { failed, tried, when, .. }, limit) = (self, percent(STARVED_SHARE));
        match failed {
            0 => format!("none of {tried} fetches {when} failed (starved from {limit})"),
            _ => format!(
                "{failed} of {tried} fetches {when} failed ({}; starved from {limit})",
                percent_beside(self.failed_share(), STARVED_SHARE)
            ),
        }
    }

    fn told_p50(&self) -> String {
        let (half, share) = (self.half(), percent(STARVED_P50_OF_CAP));
        let finding = self.finding("p50", self.idle.p50, self.measure.p50, half);
        format!("{finding} (starved from {half}, {share} of cap)")
    }

    fn told_p99(&self) -> String {
        let finding = self.finding("p99", self.idle.p99, self.measure.p99, self.long());
        format!("{finding} (degraded from {DEGRADED_P99_FACTOR} x and {DEGRADED_P99_FLOOR})")
    }

    /// A percentile of both phases, and how many times the one is of the other.
    fn finding(&self, name: &str, idle: Option<u64>, load: Option<u64>, limit: Micros) -> String {
        let times = match load.zip(idle).and_then(|(load, idle)| load.checked_div(idle)) {
            Some(times @ 2..) => format!(", {times} x"),
            _ => String::new(),
        };
        let done = |us: Option<u64>| match us {
            Some(us) => Micros(us).beside(limit),
            None => format!("over the {} cap", self.cap),
        };
        format!("{name} {} is {}, idle {}{times}", self.when, done(load), done(idle))
    }
}
