//! What a run proves: the verdict with its reasons, and the caveats.
//!
//! Not for: making figures. The judge reads a summary and the few [`Facts`] beside it, and applies
//! the [`thresholds`](crate::thresholds).
//!
//! Invariant: a run whose preconditions failed is `inconclusive`, however its figures look.

mod host;
mod load;
mod told;

use std::time::Duration;

use records::{
    Arm, Caveat, CaveatCode, CompletionUs, FetchSummary, Manifest, Micros, STARVED_SHARE, Summary,
    Verdict, percent, percent_beside,
};

use crate::explain::Context;
use crate::figures::workers::Untraced;
use crate::figures::{missing, workers};
use crate::thresholds::{
    DEGRADED_P99_FACTOR, DEGRADED_P99_FLOOR, IdlePhase, STARVED_P50_OF_CAP, part,
};
use crate::window::share;

pub(crate) use records::count;

/// What the judge sees of a run: its figures, and the records they were made from. The verdict, its reasons
/// and the caveats in `summary` are not looked at.
pub(crate) struct Facts<'a> {
    /// What the run was.
    pub(crate) manifest: &'a Manifest,
    /// What it recorded, joined.
    pub(crate) context: &'a Context<'a>,
    /// Its figures.
    pub(crate) summary: &'a Summary,
    /// What the idle phase is worth.
    pub(crate) baseline: IdlePhase,
    /// What workers that were not traced served in a traced run, where that is so much that steps
    /// are unknown.
    pub(crate) untraced: Option<Untraced>,
}

impl Facts<'_> {
    /// Whether the run came to its measure phase, though it may have been cut short in it.
    pub(crate) fn is_measured(&self) -> bool {
        self.context.windows.measure.is_some()
    }

    /// Fetches that were started but of which no record is there.
    pub(crate) fn fetches_missing(&self) -> u64 {
        missing(&self.context.records.fetches, &self.context.records.fetch_totals)
    }

    /// Records that the proxy's workers could not hand on.
    pub(crate) fn records_lost(&self) -> u64 {
        workers::records_lost(self.context.records)
    }

    /// While a worker waits, its CPU runs another worker or somebody else, or a quota withholds it. So what
    /// it waited beyond all that the other workers of its CPU ran, and beyond what the quota took, was taken
    /// by others: the CPU where that is most, and the share.
    pub(crate) fn taken_by_others(&self) -> Option<(usize, f64)> {
        let (host, workers) = (&self.manifest.host, &self.summary.proxy.workers);
        let withheld = self.context.windows.measure.map_or(0.0, |measure| {
            let throttled = self.context.counters.throttled.between(measure.start, measure.end);
            share(Duration::from_nanos(throttled), measure.length())
        });
        let taken = workers.iter().filter_map(|worker| {
            let cpu = host.cpu_of(worker.worker)?;
            let others = workers.iter().filter(|other| {
                other.worker != worker.worker && host.cpu_of(other.worker) == Some(cpu)
            });
            let ran: f64 = others.map(|other| other.cpu_share).sum();
            Some((cpu, (worker.wait_share - ran - withheld).min(1.0)))
        });
        taken.max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// What is wrong with a run.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    /// Why it cannot carry a conclusion, the weightiest first.
    against: Vec<String>,
    caveats: Vec<Caveat>,
}

impl Doubts {
    fn caveat(&mut self, code: CaveatCode, message: String) {
        self.caveats.push(Caveat { code, message });
    }

    /// A share that is a caveat above `caveat`, and from `limit` on proves that the run proves nothing.
    /// What is said of it: the words before it and behind it, and an advice.
    fn share(&mut self, code: CaveatCode, share: f64, [caveat, limit]: [f64; 2], said: [&str; 3]) {
        let [before, behind, advice] = said;
        // No text may round it across either.
        let near = if share - caveat < limit - share { caveat } else { limit };
        let message = format!(
            "{before} {} {behind} (a caveat above {}, nothing is proven from {}): {advice}",
            percent_beside(share, near),
            percent(caveat),
            percent(limit)
        );
        if share >= limit {
            self.against.push(message.clone());
        }
        if share > caveat {
            self.caveat(code, message);
        }
    }
}

/// What can be wrong, each said in terms of the run; what spoils it most comes first.
const SUBJECTS: [fn(&Facts<'_>, &mut Doubts); 17] = [
    told::faults,
    told::few_fetches,
    host::untried,
    load::moves,
    load::placement,
    host::client,
    told::baseline,
    host::stolen,
    host::contention,
    told::fetches_lost,
    told::records_lost,
    host::buffers,
    host::accepting,
    host::pinning,
    told::figures,
    told::packets,
    told::closed_loop,
];

/// A hold of a live server has no fetches beside it that could fail.
const CAPTURED: &str =
    "captured from a live server: no fetch was made beside it, so there is no verdict";

/// Judges a run: what it proves, preconditions first, then `starved`, `degraded`, `healthy`; why, in
/// sentences with figures and the threshold applied, the weightiest first, never empty; and the caveats,
/// in the order of their codes.
pub(crate) fn judge(facts: &Facts<'_>) -> (Verdict, Vec<String>, Vec<Caveat>) {
    if let Some(hold) = &facts.manifest.captured {
        return (Verdict::Inconclusive, vec![hold.clone(), CAPTURED.to_owned()], Vec::new());
    }
    let mut doubts = Doubts::default();
    SUBJECTS.iter().for_each(|look| look(facts, &mut doubts));
    let Doubts { against, mut caveats } = doubts;
    caveats.sort_by_key(|caveat| caveat.code);
    if against.is_empty() {
        let rules = Rules::of(facts);
        (rules.verdict(), rules.reasons(), caveats)
    } else {
        (Verdict::Inconclusive, against, caveats)
    }
}

/// Why something could not be tried.
const SHORTAGE: &str = "this host had no descriptor, port or memory left";

/// When the fetches of the measure phase ran.
pub const fn measured_when(arm: &Arm) -> &'static str {
    if arm.load.slow == 0 { "with no load" } else { "under load" }
}

/// Items as `0`, `0 and 1`, `0, 1 and 2`; beyond five: `0, 1, 2, 3, 4 and 7 more`.
pub(crate) fn list<T: ToString>(items: &[T]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = items.iter().take(SHOWN).map(ToString::to_string).collect();
    match (shown.as_slice(), items.len().saturating_sub(SHOWN)) {
        (shown, more @ 1..) => format!("{} and {more} more", shown.join(", ")),
        ([head @ .., last], 0) if !head.is_empty() => format!("{} and {last}", head.join(", ")),
        (shown, 0) => shown.concat(),
    }
}

/// The rules of a verdict: what the fetches say of a run whose preconditions hold.
///
/// Times are those by which fetches were done: one that failed never was, however soon it failed.
#[derive(Clone, Copy)]
struct Rules {
    idle: CompletionUs,
    measure: CompletionUs,
    /// Under load, of those that could be tried.
    failed: u64,
    tried: u64,
    cap: Micros,
    when: &'static str,
}

impl Rules {
    fn of(facts: &Facts<'_>) -> Self {
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
    fn had(self, failed: u64, tried: u64) -> Self {
        Self { failed, tried, ..self }
    }

    fn verdict(&self) -> Verdict {
        if self.many_failed() || self.slow_median() {
            Verdict::Starved
        } else if self.failed > 0 || self.slow_tail() {
            Verdict::Degraded
        } else {
            Verdict::Healthy
        }
    }

    /// Why that is the verdict.
    fn reasons(&self) -> Vec<String> {
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

#[cfg(test)]
mod tests;
