//! From records to [`PageData`].

mod environment;
mod fetches;
mod series;
mod workers;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use records::{Accepted, Fetch, MonoNs, Phase};

use crate::curve::{LatencyCurve, survival};
use crate::data::{PageData, Span};
use crate::head;
use crate::input::RunInput;

pub(crate) use environment::machine;

impl PageData {
    /// All that the page shows of a run.
    pub fn of(run: RunInput<'_>) -> Self {
        let clock = Clock::of(&run);
        let (holds, places) = workers::holds(&run, &clock);
        let fetches = fetches::fetches(&run, &clock, &holds, &places);
        let blame = fetches::blame(&fetches, &holds);
        let of_phase = |phase: Phase| run.fetches.iter().filter(move |f| f.phase == phase);
        let phases = phases(&run, &clock);
        let slots =
            (0..run.manifest.arm.load.slow).chain(run.dialed.iter().map(|dialed| dialed.slot));
        Self {
            title: head::title(run.summary),
            sentence: head::sentence(run.summary, blame.first().and_then(|first| first.slot)),
            figures: head::figures(run.summary),
            command: head::command(&run.manifest.command),
            started_at: run.manifest.started_at.clone(),
            // A phase that did not end lasts as long as the run.
            end_us: phases
                .iter()
                .map(|(_, span)| span.end_us())
                .fold(clock.end_us.max(1), u64::max),
            cap_us: run.manifest.arm.fetch.cap,
            hold_us: run.manifest.hold_us,
            phases,
            workers: workers::lanes(&run),
            downloads: slots.collect::<BTreeSet<u32>>().into_iter().collect(),
            holds,
            stretches: workers::stretches(&run, &clock),
            absences: workers::absences(&run, &clock),
            fetches,
            blame,
            throughput: series::throughput(&run, &clock),
            accept_queues: series::accept_queues(&run, &clock),
            receive_queues: series::receive_queues(&run, &clock),
            latency: [Phase::Idle, Phase::Measure].map(|phase| LatencyCurve::of(of_phase(phase))),
            survival: [Phase::Idle, Phase::Measure].map(|phase| survival(of_phase(phase))),
            environment: environment::rows(&run),
            faults: environment::faults(&run),
            summary: run.summary.clone(),
        }
    }
}

/// When a fetch ended.
fn end_of(fetch: &Fetch) -> MonoNs {
    fetch.start_ns + fetch.total_us.as_duration()
}

/// Instants as microseconds since the start of the run.
struct Clock {
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
    const fn us(&self, at: MonoNs) -> u64 {
        at.micros_since(self.start).0
    }

    /// What began before the run is of its start on.
    const fn span(&self, start: MonoNs, end: MonoNs) -> Span {
        Span::new(self.us(start), self.us(end))
    }
}

/// Who accepted which connection.
struct Owners<'a> {
    by_port: BTreeMap<u16, Vec<&'a Accepted>>,
}

impl<'a> Owners<'a> {
    fn new(accepted: &'a [Accepted]) -> Self {
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
    fn of(&self, fetch: &Fetch) -> Option<u32> {
        const LATE: Duration = Duration::from_secs(30);
        let connections = self.by_port.get(&fetch.client_port?)?;
        let first = connections.partition_point(|accepted| accepted.at_ns < fetch.start_ns);
        let accepted = connections.get(first)?;
        (accepted.at_ns < end_of(fetch) + LATE).then_some(accepted.worker)
    }
}

fn phases(run: &RunInput<'_>, clock: &Clock) -> Vec<(Phase, Span)> {
    let shown = run.manifest.phases.iter().filter(|phase| phase.phase != Phase::Teardown);
    let end = |end: Option<MonoNs>| end.map_or(clock.end_us, |end| clock.us(end));
    shown.map(|of| (of.phase, Span::new(clock.us(of.start_ns), end(of.end_ns)))).collect()
}
