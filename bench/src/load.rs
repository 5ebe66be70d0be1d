//! A standing load: downloads that never end, from an origin, through a proxy or not.

use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, SamplingMode, Throughput};
use net::clock;
use net::role::RoleOptions;
use records::{Bytes, DownloadEnd, DownloadInterval, Micros, ProxyToggles, Record, SlowToggles};
use slow_client::SlowOptions;

use crate::child::{Child, Event, Told};
use crate::cpu_plan::CpuPlan;
use crate::meter::Meter;
use crate::or_panic;
use crate::roles::RoleCommand;
use crate::servers::Servers;

/// What one iteration moves: some 50 ms of a draining proxy on one core.
pub(crate) const ITERATION: Bytes = Bytes::mib(64);

/// Size of one download: hours at any rate that one core reaches, so none ends.
pub(crate) const ENDLESS: Bytes = Bytes::gib(64 * 1024);

/// How often the slow client tells its bytes.
pub(crate) const INTERVAL: Micros = Micros(50_000);

/// How long the load may stand still before the benchmark fails.
pub(crate) const STALLED_AFTER: Duration = Duration::from_secs(20);

/// What stands between origin and slow client.
#[derive(Clone, Debug)]
pub(crate) enum Path {
    /// Nothing.
    Direct,
    /// A proxy.
    Proxied(Box<ProxyToggles>),
}

/// A load to be started.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// From where the slow client downloads.
    pub(crate) path: Path,
    /// Parallel downloads.
    pub(crate) downloads: u32,
}

/// Origin, proxy and slow client at work. They end when it is dropped, the slow client first.
#[derive(Debug)]
struct Load {
    told: Receiver<Told>,
    _slow: Child,
    _servers: Servers,
}

/// Measures how fast the load of `setup` moves bytes. It runs from the first sample to the last,
/// without a pause between them, and only if the benchmark is not filtered out.
///
/// # Panics
/// The load cannot be started, or stands still: there is no figure then.
pub(crate) fn measure(group: &mut BenchmarkGroup<'_, WallTime>, id: BenchmarkId, setup: &Setup) {
    group.throughput(Throughput::Bytes(ITERATION.0));
    let mut load = None;
    group.bench_function(id, |bencher| {
        let load = load.get_or_insert_with(|| or_panic(Load::start(setup)));
        bencher.iter_custom(|iters| {
            or_panic(load.time_to_move(Bytes(ITERATION.0.saturating_mul(iters))))
        });
    });
}

/// A group for loads: 10 samples of up to half a second, each of as many iterations as the others.
pub(crate) fn configure(group: &mut BenchmarkGroup<'_, WallTime>) {
    group
        .sample_size(10)
        .sampling_mode(SamplingMode::Flat)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(5));
}

impl Load {
    fn start(setup: &Setup) -> anyhow::Result<Self> {
        let plan = CpuPlan::of_this_host()?;
        let (sender, told) = mpsc::channel();
        let toggles = match &setup.path {
            Path::Direct => None,
            Path::Proxied(toggles) => Some(toggles.as_ref()),
        };
        let servers = Servers::start(toggles, &plan, &sender)?;
        let slow = SlowOptions {
            toggles: SlowToggles {
                slow: setup.downloads,
                slow_size: ENDLESS,
                ..SlowToggles::default()
            },
            interval: INTERVAL,
            role: RoleOptions::of_child(plan.load()),
            ..SlowOptions::to(servers.target())
        };
        let slow = Child::start(&RoleCommand::Slow(Box::new(slow)), plan.load(), &sender)?;
        Ok(Self { told, _slow: slow, _servers: servers })
    }

    /// How long the load takes from now on to move `goal`.
    ///
    /// # Errors
    /// It moved nothing for long, or a download ended: what was measured is no standing load.
    fn time_to_move(&self, goal: Bytes) -> anyhow::Result<Duration> {
        let start = clock::now();
        let mut meter = Meter::new(start, goal);
        let mut last_byte = start;
        let mut last_heard = Instant::now();
        loop {
            ensure!(last_heard.elapsed() < STALLED_AFTER, "the slow client fell silent");
            let Ok(Told { role, event }) = self.told.recv_timeout(STALLED_AFTER) else { continue };
            let Event::Record(record) = event else { bail!("the {role} process ended: see above") };
            match *record {
                Record::DownloadInterval(interval) => {
                    last_heard = Instant::now();
                    if let Some(time) = meter.take(&interval) {
                        return Ok(time);
                    }
                    if moved(&interval) {
                        last_byte = interval.end_ns;
                    }
                    ensure!(
                        interval.end_ns.since(last_byte) < STALLED_AFTER,
                        "the load stands still after {} of {goal}",
                        meter.moved()
                    );
                }
                Record::Download(download) => {
                    bail!(
                        "download {} ended ({}): the load does not stand",
                        download.slot,
                        reason(download.end)
                    )
                }
                _ => {}
            }
        }
    }
}

fn moved(interval: &DownloadInterval) -> bool {
    interval.bytes.iter().any(|&bytes| bytes > Bytes(0))
}

/// Why a download ended, in words for people.
pub(crate) fn reason(end: DownloadEnd) -> &'static str {
    match end {
        DownloadEnd::Completed => "all of it arrived",
        DownloadEnd::Stopped => "it was stopped",
        DownloadEnd::Replaced => "it was replaced",
        DownloadEnd::Refused => "refused",
        DownloadEnd::LocalError => "this host had no descriptor, port or memory left for it",
        DownloadEnd::Reset => "reset by its server",
        DownloadEnd::ClosedEarly => "closed early by its server",
        DownloadEnd::BadStatus => "answered with another status than 200",
    }
}
