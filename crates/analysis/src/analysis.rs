//! A run, analysed.

use std::time::Duration;

use records::{
    Bytes, CauseShare, Fetch, FetchSummary, Holder, LateSummary, Micros, Outcome, Phase,
    RunRecords, SCHEMA_VERSION, Summary, Verdict, Visibility,
};

use crate::explain::{Context, FetchSplit, explain, late, split};
use crate::figures::log::Logged;
use crate::figures::workers::Untraced;
use crate::figures::{fetch_summary, slow, workers};
use crate::join::Join;
use crate::judge::{Facts, judge};
use crate::thresholds::{IdlePhase, UNJOINED_SHARE};
use crate::window::Window;

/// All that the records of one run show.
pub struct Analysis<'a> {
    /// What it is made from.
    pub records: &'a RunRecords,
    /// Its figures, causes and verdict: `summary.json`.
    pub summary: Summary,
    pub(crate) context: Context<'a>,
    splits: Vec<FetchSplit>,
}

impl<'a> Analysis<'a> {
    /// Analyses a run, and judges it.
    pub fn of(records: &'a RunRecords) -> Self {
        let context = Context::of(records);
        let splits = split::all(&context);
        let Context { join, windows, .. } = &context;
        let untraced = workers::untraced(records, join, windows, UNJOINED_SHARE);
        let idle = fetch_summary(&records.fetches, &records.fetch_totals, Phase::Idle);
        let cap = records.manifest.arm.fetch.cap;
        let baseline = IdlePhase::of(records, &idle, cap);
        let explained = explain(&context, &splits, &idle, &baseline);
        let logged = Logged::of(&records.manifest.arm.server.kind, join);
        let mut summary = figures(&context, idle, explained, logged, untraced);
        let facts = Facts {
            manifest: &records.manifest,
            context: &context,
            summary: &summary,
            baseline,
            untraced,
        };
        (summary.verdict, summary.verdict_reasons, summary.caveats) = judge(&facts);
        Self { records, summary, context, splits }
    }

    /// Where the time of each fetch went, in the order of the records.
    pub fn splits(&self) -> &[FetchSplit] {
        &self.splits
    }

    /// The same of the late ones alone ([`records::LateSummary`]).
    pub fn late(&self) -> Vec<&FetchSplit> {
        late::late_of(&self.context, &self.splits, &self.summary.late)
    }

    /// Whose step the `hold`-th hold was; `None`: there is no such hold.
    pub fn holder(&self, hold: usize) -> Option<Holder> {
        self.context.holder(hold)
    }

    /// Who was served by which connection of the proxy.
    pub fn join(&self) -> &Join<'a> {
        &self.context.join
    }
}

/// The summary of a run alone.
pub fn summarise(records: &RunRecords) -> Summary {
    Analysis::of(records).summary
}

/// All figures; the verdict is left open. Of a trace that missed who served the load, nothing is told of
/// steps.
fn figures(
    context: &Context<'_>,
    idle: FetchSummary,
    (late, causes): (LateSummary, Vec<CauseShare>),
    logged: Logged,
    untraced: Option<Untraced>,
) -> Summary {
    let Context { records, join, windows, .. } = context;
    let manifest = &records.manifest;
    let holders = slow::holders(join, windows);
    let measure = fetch_summary(&records.fetches, &records.fetch_totals, Phase::Measure);
    let mut slow = slow::summary(records, windows, &holders, join);
    let visibility = match untraced {
        Some(_) => Visibility::ClientsOnly,
        None => manifest.visibility,
    };
    slow.bytes_per_step = slow.bytes_per_step.filter(|_| untraced.is_none());
    let mut proxy = logged.proxy;
    proxy.workers = workers::summaries(records, join, windows, &holders, visibility);
    proxy.calls = workers::calls(records);
    let cpu = manifest.proxy_cpu_ms;
    proxy.cpu_us = cpu.map(|span| Micros(span.moved().saturating_mul(1_000)));
    let good = |fetch: &&Fetch| fetch.phase == Phase::Measure && fetch.outcome == Outcome::Ok;
    let fetched = records.fetches.iter().filter(good).map(|fetch| fetch.bytes).sum::<Bytes>().0;
    let moved_gb = (slow.bytes.0.saturating_add(fetched)) as f64 / 1e9;
    proxy.cpu_us_per_gb = proxy.cpu_us.and_then(|cpu| {
        Duration::try_from_secs_f64(cpu.as_secs() / moved_gb).ok().map(Micros::from)
    });
    if let Some(loaded) = windows.loaded {
        proxy.blocked = workers::blocked(records, loaded);
        proxy.absences = workers::absences(records, loaded);
    }
    let has_steps = manifest.visibility != Visibility::Threads;
    let law = windows.measure.filter(|_| has_steps).and_then(|window| {
        slow::latency_model(records, window, &holders, &slow, Micros(measure.latency_us.p50))
    });
    Summary {
        schema_version: SCHEMA_VERSION,
        verdict: Verdict::Inconclusive,
        verdict_reasons: Vec::new(),
        caveats: Vec::new(),
        interrupted: manifest.interrupted.clone(),
        arm: manifest.arm.clone(),
        program: manifest.program.clone(),
        visibility,
        measured_us: windows.measure.map(Window::length).unwrap_or_default().into(),
        idle,
        law,
        measure,
        slow,
        causes,
        late,
        log_truth: logged.truth,
        log_gap: logged.gap,
        proxy,
    }
}
