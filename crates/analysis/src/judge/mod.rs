//! What a run proves: the verdict with its reasons, and the caveats.
//!
//! Not for: making figures. The judge reads a summary and the few [`Facts`] beside it, and applies
//! the [`thresholds`](crate::thresholds).
//!
//! Invariant: a run whose preconditions failed is `inconclusive`, however its figures look.

mod caveats;
mod preconditions;
mod rules;

use std::time::Duration;

use records::{Arm, Manifest, Micros, Summary, Verdict};

use crate::explain::Context;
use crate::figures::seen::Untraced;
use crate::figures::{missing, workers};
use crate::thresholds::IdlePhase;
use crate::window::share;
use rules::Rules;

pub(crate) use caveats::caveats;
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

    /// Length of the whole run.
    pub(crate) fn elapsed_us(&self) -> Micros {
        self.context.windows.run.length().into()
    }

    /// CPU time the hypervisor withheld, over all CPUs, as a share of the run's time; it may exceed 1.
    pub(crate) fn stolen_share(&self) -> Option<f64> {
        let stolen = Micros(self.manifest.host.stolen_ms.saturating_mul(1_000));
        let elapsed = self.elapsed_us();
        (elapsed.0 > 0).then(|| stolen.as_secs() / elapsed.as_secs())
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

/// Judges a run: preconditions first, then `starved`, `degraded`, `healthy`. What it proves, and why:
/// sentences with figures and the threshold applied, the weightiest first; never empty.
pub(crate) fn judge(facts: &Facts<'_>) -> (Verdict, Vec<String>) {
    let against = preconditions::failed(facts);
    if !against.is_empty() {
        return (Verdict::Inconclusive, against);
    }
    let rules = Rules::of(facts);
    (rules.verdict(), rules.reasons())
}

/// Why a fetch could not be tried.
pub(crate) const SHORTAGE: &str = "this host had no descriptor, port or memory left";

/// What would do about it.
pub(crate) const MORE: &str =
    "raise `ulimit -n`, widen net.ipv4.ip_local_port_range, or lower --arrivals";

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

#[cfg(test)]
mod tests;
