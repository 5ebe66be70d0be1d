//! From records to [`PageData`].

mod environment;
mod fetches;
mod series;
mod workers;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use records::{Accepted, Fetch, Micros, MonoNs, Phase, Summary};

use crate::curve::{LatencyCurve, survival};
use crate::data::{DownloadData, PageData, PhaseData};
use crate::input::RunInput;
use crate::{palette, words};

pub(crate) use environment::machine;

/// Layout of [`PageData`]; the script of the page knows this one.
const PAGE_VERSION: u32 = 1;

impl PageData {
    /// All that the page shows of a run.
    pub fn of(run: RunInput<'_>) -> Self {
        let clock = Clock::of(&run);
        let (holds, places) = workers::holds(&run, &clock);
        let owners = Owners::new(run.accepted);
        let fetches = fetches::columns(&run, &clock, &owners, &places);
        let blame = fetches::blame(&fetches, &holds);
        let of_phase = |phase: Phase| run.fetches.iter().filter(move |f| f.phase == phase);
        let summary: Summary = run.summary.clone();
        let mut data = Self {
            page_version: PAGE_VERSION,
            title: words::title(&summary),
            sentence: words::sentence(&summary, &blame),
            figures: words::figures(&summary),
            command: words::command(&run.manifest.command),
            started_at: run.manifest.started_at.clone(),
            end_us: clock.end_us.max(1),
            cap_us: run.manifest.arm.cap_us.0,
            hold_us: run.manifest.hold_us.0,
            phases: phases(&run, &clock),
            workers: workers::lanes(&run),
            downloads: downloads(&run, &owners),
            holds,
            stretches: workers::stretches(&run, &clock),
            spans: workers::spans(&run, &clock),
            fetches,
            blame,
            throughput: series::throughput(&run, &clock),
            accept_queues: series::accept_queues(&run, &clock),
            receive_queues: series::receive_queues(&run, &clock),
            idle_latency: LatencyCurve::of(of_phase(Phase::Idle)),
            load_latency: LatencyCurve::of(of_phase(Phase::Measure)),
            idle_survival: survival(of_phase(Phase::Idle)),
            load_survival: survival(of_phase(Phase::Measure)),
            environment: environment::rows(&run),
            faults: environment::faults(&run),
            summary,
        };
        // A step that began before the first phase is drawn from the run's start on.
        data.end_us = data.end_us.max(data.phases.iter().map(|p| p.end_us).max().unwrap_or(1));
        data
    }
}

/// When a fetch ended.
pub(crate) fn end_of(fetch: &Fetch) -> MonoNs {
    fetch.start_ns + fetch.total_us.as_duration()
}

/// Instants as microseconds since the start of the run.
pub(crate) struct Clock {
    start: MonoNs,
    end_us: u64,
}

impl Clock {
    fn of(run: &RunInput<'_>) -> Self {
        let phases = &run.manifest.phases;
        let fetches = run.fetches;
        let start = phases.first().map(|phase| phase.start_ns);
        let start = start.or_else(|| fetches.iter().map(|fetch| fetch.start_ns).min());
        let start = start.unwrap_or_default();
        // Taking processes down is no part of the picture.
        let shown = phases.iter().filter(|phase| phase.phase != Phase::Teardown);
        let ends = shown.map(|phase| phase.end_ns.unwrap_or(phase.start_ns));
        let end = ends.chain(fetches.iter().map(end_of)).max().unwrap_or_default();
        Self { start, end_us: end.micros_since(start).0 }
    }

    /// `at` as us since the start; zero before it.
    pub(crate) const fn us(&self, at: MonoNs) -> u64 {
        at.micros_since(self.start).0
    }
}

/// Who accepted which connection.
pub(crate) struct Owners<'a> {
    by_port: BTreeMap<u16, Vec<&'a Accepted>>,
}

impl<'a> Owners<'a> {
    pub(crate) fn new(accepted: &'a [Accepted]) -> Self {
        let mut by_port: BTreeMap<u16, Vec<&Accepted>> = BTreeMap::new();
        for accepted in accepted {
            by_port.entry(accepted.client_port).or_default().push(accepted);
        }
        for connections in by_port.values_mut() {
            connections.sort_by_key(|accepted| accepted.at_ns);
        }
        Self { by_port }
    }

    /// The worker that first accepted the fetch's port after it started. A port may come back: one
    /// that was accepted long after belongs to another connection.
    pub(crate) fn of(&self, fetch: &Fetch) -> Option<u32> {
        const LATE: Duration = Duration::from_secs(30);
        let connections = self.by_port.get(&fetch.client_port?)?;
        let first = connections.partition_point(|accepted| accepted.at_ns < fetch.start_ns);
        let accepted = connections.get(first)?;
        (accepted.at_ns < end_of(fetch) + LATE).then_some(accepted.worker)
    }

    /// The last worker that accepted this port.
    fn last(&self, port: u16) -> Option<u32> {
        self.by_port.get(&port)?.last().map(|accepted| accepted.worker)
    }
}

fn phases(run: &RunInput<'_>, clock: &Clock) -> Vec<PhaseData> {
    let shown = run.manifest.phases.iter().filter(|phase| phase.phase != Phase::Teardown);
    shown
        .map(|phase| PhaseData {
            name: phase.phase.name(),
            start_us: clock.us(phase.start_ns),
            end_us: phase.end_ns.map_or(clock.end_us, |end| clock.us(end)),
        })
        .collect()
}

fn downloads(run: &RunInput<'_>, owners: &Owners<'_>) -> Vec<DownloadData> {
    let ports: BTreeMap<u32, u16> =
        run.dialed.iter().map(|dialed| (dialed.slot, dialed.client_port)).collect();
    let slots: BTreeSet<u32> = (0..run.manifest.arm.slow).chain(ports.keys().copied()).collect();
    let of = |slot: u32| {
        let (color, hatched) = palette::download(slot);
        let worker = ports.get(&slot).and_then(|&port| owners.last(port));
        DownloadData { slot, worker, color, hatched }
    };
    slots.into_iter().map(of).collect()
}

/// A part of a whole, per mille.
fn per_mille(part: Micros, whole: Micros) -> u16 {
    let share = part.0.saturating_mul(1000).checked_div(whole.0).unwrap_or(0);
    u16::try_from(share.min(1000)).unwrap_or(1000)
}
