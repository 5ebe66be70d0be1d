//! What a byte costs on its way from the origin to the slow client: a standing load, which is downloads that
//! never end, from an origin, through a proxy or not.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, SamplingMode, Throughput};
use net::child::{Child, Dropped, Event};
use net::clock;
use net::role::RoleOptions;
use records::{
    Arm, Bytes, Micros, ProxyToggles, ReadPolicy, Record, Recording, Requests, Role, SlowToggles,
};
use trial::roles::{Given, RoleCommand, ServerOptions};

use crate::{Host, or_panic};

/// nginx's page, which is the proxy's default.
const PAGE: Bytes = Bytes::kib(4);

/// Whether the load can outrun the proxy: `direct_vs_proxied/direct` and
/// `direct_vs_proxied/proxied_drain`, four downloads without and with a proxy between.
///
/// Origin and slow client share the CPUs of the load in both. The first figure should be at least twice
/// the second. If it is not, the proxy of a trial waits for its load: its sockets run empty and end
/// steps that no setting of its own would end.
pub fn direct_vs_proxied(c: &mut Criterion, host: &Host) {
    let draining = ProxyToggles { workers: 2, reuseport: true, ..ProxyToggles::default() };
    let mut group = c.benchmark_group("direct_vs_proxied");
    configure(&mut group);
    for (name, proxy) in [("direct", None), ("proxied_drain", Some(&draining))] {
        measure(&mut group, BenchmarkId::from_parameter(name), host, (proxy, 4));
    }
    group.finish();
}

/// What a byte costs one worker: `relay/<read policy>/<buffer>`. One download, so that no policy is paid
/// for the turns it gives to others.
pub fn relay(c: &mut Criterion, host: &Host) {
    let mut group = c.benchmark_group("relay");
    configure(&mut group);
    for (read_policy, buffer) in [
        (ReadPolicy::Drain, PAGE),
        (ReadPolicy::ShortRead, PAGE),
        (ReadPolicy::Fionread, PAGE),
        (ReadPolicy::Bytes(Bytes::kib(64)), PAGE),
        (ReadPolicy::Drain, Bytes::kib(16)),
        (ReadPolicy::Drain, Bytes::kib(64)),
    ] {
        let toggles = ProxyToggles { workers: 1, buffer, read_policy, ..ProxyToggles::default() };
        let id = BenchmarkId::new(read_policy.to_string(), buffer.exact());
        measure(&mut group, id, host, (Some(&toggles), 1));
    }
    group.finish();
}

/// What one iteration moves: some 50 ms of a draining proxy on one core.
const ITERATION: Bytes = Bytes::mib(64);

/// Size of one download: hours at any rate that one core reaches, so none ends.
const ENDLESS: Bytes = Bytes::gib(64 * 1024);

/// How often the slow client tells its bytes.
const INTERVAL: Micros = Micros(50_000);

/// A trial's own.
const HOLD: Micros = Micros(10_000);

/// How long the load may stand still, or a role be silent that should be ready, before the benchmark
/// fails. It takes milliseconds; this is for a host that is very busy.
const STALLED_AFTER: Duration = Duration::from_secs(20);

/// Measures how fast this many downloads move bytes, through a proxy or straight. They run from the first sample to the
/// last, without a pause between them, and only if the benchmark is not filtered out.
///
/// # Panics
/// The load cannot be started, or stands still: there is no figure then.
fn measure(
    group: &mut BenchmarkGroup<'_, WallTime>,
    id: BenchmarkId,
    host: &Host,
    (proxy, downloads): (Option<&ProxyToggles>, u32),
) {
    group.throughput(Throughput::Bytes(ITERATION.0));
    let mut load = None;
    group.bench_function(id, |bencher| {
        let load = load.get_or_insert_with(|| or_panic(Load::start(proxy, downloads, host)));
        bencher.iter_custom(|iters| {
            or_panic(load.time_to_move(Bytes(ITERATION.0.saturating_mul(iters))))
        });
    });
}

/// A group for loads: 10 samples of up to half a second, each of as many iterations as the others.
fn configure(group: &mut BenchmarkGroup<'_, WallTime>) {
    group
        .sample_size(10)
        .sampling_mode(SamplingMode::Flat)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(5));
}

/// Origin, proxy and slow client at work. They end when it is dropped, the slow client first.
#[derive(Debug)]
struct Load {
    told: Receiver<(Role, Event)>,
    sender: Sender<(Role, Event)>,
    children: Vec<Child>,
}

impl Load {
    fn start(proxy: Option<&ProxyToggles>, downloads: u32, host: &Host) -> anyhow::Result<Self> {
        let (sender, told) = mpsc::channel();
        let mut load = Self { told, sender, children: Vec::new() };
        let role = RoleOptions::of_child(host.plan.load.as_ref());
        let loopback = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        let slow = SlowToggles { slow: downloads, slow_size: ENDLESS, ..SlowToggles::default() };
        let mut arm = Arm { load: slow, ..Arm::default() };
        let origin = RoleCommand::origin(&arm, loopback, Micros(0), role.clone());
        let mut target = load.server(&origin)?;
        if let Some(toggles) = proxy {
            arm.proxy = toggles.clone();
            // As in a trial, but for the access log, which nobody reads.
            let options = ServerOptions {
                arm: arm.clone(),
                given: Given::default(),
                upstream: Some(target),
                listen: loopback,
                dir: "/".into(),
                access_log: "/dev/null".into(),
                hold: HOLD,
                pin: host.plan.workers.clone(),
                role: role.clone(),
            };
            target = load.server(&RoleCommand::proxy(options, Recording::Full))?;
        }
        let mut slow = RoleCommand::slow(&arm, target, Requests::AtOnce, role);
        if let RoleCommand::Slow(options) = &mut slow {
            options.interval = INTERVAL;
        }
        load.child(&slow)?;
        Ok(load)
    }

    /// Starts a role in a process of its own, this binary again.
    fn child(&mut self, command: &RoleCommand) -> anyhow::Result<()> {
        let (role, told) = (command.role(), self.sender.clone());
        let mut program = Command::new("/proc/self/exe");
        program.args(command.words()?).stdin(Stdio::null()).stdout(Stdio::piped());
        // Nobody there: nobody wants it.
        let tell = move |event| drop(told.send((role, event)));
        let name = net::role::thread_name(role, "child");
        let child = Child::start(&mut program, name, Dropped::Killed, tell)
            .with_context(|| format!("failed to start the {role}"))?;
        // The first of these is dropped first.
        self.children.insert(0, child);
        Ok(())
    }

    /// Starts one that accepts connections, and waits until it does.
    fn server(&mut self, command: &RoleCommand) -> anyhow::Result<SocketAddr> {
        self.child(command)?;
        loop {
            if let Some(Record::Ready(ready)) = self.next()?
                && ready.role == command.role()
            {
                return ready.listen.context("the ready line names no address to connect to");
            }
        }
    }

    /// What a role said next; `None`: nothing of use here.
    ///
    /// # Errors
    /// None of them said anything for long, or one has ended.
    fn next(&self) -> anyhow::Result<Option<Record>> {
        let Ok((role, event)) = self.told.recv_timeout(STALLED_AFTER) else {
            bail!("the roles fell silent");
        };
        match (role, event) {
            (_, Event::Ended) => bail!("the {role} ended: see above"),
            // Of origin and proxy, who tell of much else, only the first line matters.
            (_, Event::Line(line)) if role == Role::Slow || line.contains("\"ready\"") => {
                Ok(Record::from_line(&line).ok())
            }
            _ => Ok(None),
        }
    }

    /// How long the load takes to move `goal`, by the whole intervals from now on that hold as much.
    ///
    /// # Errors
    /// It moved nothing for long, or a download ended: what was measured is no standing load.
    fn time_to_move(&self, goal: Bytes) -> anyhow::Result<Duration> {
        let from = clock::now();
        let (mut moved, mut spent, mut idle) = (Bytes(0), Duration::ZERO, Duration::ZERO);
        loop {
            match self.next()? {
                Some(Record::DownloadInterval(interval)) if interval.start_ns >= from => {
                    let length = interval.end_ns.since(interval.start_ns);
                    let bytes: Bytes = interval.bytes.iter().copied().sum();
                    idle = if bytes == Bytes(0) { idle + length } else { Duration::ZERO };
                    ensure!(idle < STALLED_AFTER, "the load stands still after {moved} of {goal}");
                    (moved, spent) = (moved + bytes, spent + length);
                    if moved >= goal {
                        return Ok(spent.mul_f64(goal.0 as f64 / moved.0 as f64));
                    }
                }
                Some(Record::Download(download)) => bail!(
                    "download {} ended ({:?}): the load does not stand",
                    download.slot,
                    download.end
                ),
                _ => {}
            }
        }
    }
}
