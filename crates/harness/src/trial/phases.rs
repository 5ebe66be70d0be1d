//! The phases of a trial up to its teardown, in order. Each begins when what it needs is ready.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use procfs::process::Process;
use records::{
    CounterSpan, ListenerMode, Phase, Placement, ProxyKind, Ready, Role, Sight, TraceMode,
};

use super::crew::{ChildId, Orders};
use super::placement::{Requests, Steering};
use super::proxy_cpu;
use super::sampler::Watch;
use super::stage::Stage;
use super::{Stop, TrialError};
use crate::roles::{self, ProxySetup};
use crate::run_dir::{ACCESS_LOG, PROXY_DIR};

/// How long downloads may be steered.
const STEERING: Duration = Duration::from_secs(3);
/// How long downloads may take to receive their first bytes.
const MOTION: Duration = Duration::from_secs(5);
/// How long the fast role may take to end after the cap of its last fetch. It takes milliseconds;
/// this is for a host that leaves it no CPU, which the verdict will tell from its lag.
const LINGER: Duration = Duration::from_secs(15);

impl Stage<'_> {
    /// Setup to drain.
    pub(super) fn run_phases(&mut self) -> Result<(), Stop> {
        let proxy = self.set_up()?;
        self.idle(proxy)?;
        self.load(proxy)?;
        let fast = self.measure(proxy)?;
        self.drain(fast)
    }

    /// Origin and proxy.
    fn set_up(&mut self) -> Result<SocketAddr, Stop> {
        self.begin(Phase::Setup)?;
        let plan = self.plan;
        let (id, origin) = self.start_own(
            Role::Origin,
            plan.toggles.origin_args(self.addr(Role::Origin), plan.idle),
            Orders::None,
        )?;
        let upstream = self.listening(id, origin.listen)?;
        if let ProxyKind::Url(addr) = plan.arm.proxy {
            self.manifest.sight = Sight::ClientsOnly;
            self.watch(Watch::Listening(Role::Proxy, addr));
            return Ok(addr);
        }
        let (id, ready) = self.start_proxy(upstream)?;
        let (listen, workers) = (ready.listen, ready.worker_tids);
        self.watch(Watch::Workers(workers.clone()));
        self.manifest.workers = u32::try_from(workers.len()).ok().filter(|count| *count > 0);
        self.manifest.listeners = ready.listeners;
        self.manifest.program = ready.program;
        self.manifest.sight = ready.sight;
        self.accepts_told = AcceptsTold::of(ready.sight, &workers);
        self.trace(&workers)?;
        self.listening(id, listen)
    }

    /// The proxy under test, as its own process or in the hands of the one that knows it.
    fn start_proxy(&mut self, upstream: SocketAddr) -> Result<(ChildId, Ready), Stop> {
        let plan = self.plan;
        let run_dir = self.run.dir().to_owned();
        let (log, dir) = (run_dir.join(ACCESS_LOG), run_dir.join(PROXY_DIR));
        let setup = ProxySetup {
            listen: self.addr(Role::Proxy),
            upstream,
            access_log: plan.access_log.as_ref().unwrap_or(&log),
            dir: &dir,
            hold: plan.hold,
            recording: plan.recording,
            workers: plan.cpus.workers.as_ref(),
        };
        if plan.arm.proxy == ProxyKind::Mirror {
            return self.start_own(Role::Proxy, plan.toggles.proxy_args(setup), Orders::None);
        }
        let args = plan
            .toggles
            .server_args(setup, &plan.arm)
            .map_err(|error| Stop::Broken(TrialError::Host(std::io::Error::other(error))))?;
        self.start(Role::Proxy, roles::SERVER, args, Orders::None)
    }

    /// A second pair of eyes for workers that tell of themselves, if it is asked for.
    fn trace(&mut self, workers: &[i32]) -> Result<(), Stop> {
        let plan = self.plan;
        let asked = matches!(plan.arm.trace, TraceMode::Bpftrace | TraceMode::Sample);
        if asked && self.manifest.sight == Sight::Own {
            let args = plan.toggles.trace_args(workers, plan.hold);
            self.start_own(Role::Trace, args, Orders::None)?;
        }
        Ok(())
    }

    /// Starts one of our own roles and waits until it is ready.
    fn start_own(
        &mut self,
        role: Role,
        args: Vec<String>,
        orders: Orders,
    ) -> Result<(ChildId, Ready), Stop> {
        self.start(role, role.name(), args, orders)
    }

    fn listening(&self, who: ChildId, told: Option<SocketAddr>) -> Result<SocketAddr, Stop> {
        let blame = || Stop::Fault(self.blame(who, "did not say where it listens"));
        let addr = told.ok_or_else(blame)?;
        if let Some(role) = self.crew.role(who) {
            self.watch(Watch::Listening(role, addr));
        }
        Ok(addr)
    }

    /// Fetches alone, to their end.
    fn idle(&mut self, proxy: SocketAddr) -> Result<(), Stop> {
        let length = self.plan.idle;
        let fast = self.start_fetches(proxy, Phase::Idle, length)?;
        self.begin(Phase::Idle)?;
        self.await_end(fast, Instant::now() + length)
    }

    /// Downloads, each at its worker and on its way.
    fn load(&mut self, proxy: SocketAddr) -> Result<(), Stop> {
        self.begin(Phase::Load)?;
        self.counters = self.read_counters();
        let arm = &self.plan.arm;
        if arm.slow == 0 {
            return Ok(());
        }
        let place = self.placement();
        let requests = requests(place, self.plan.toggles.listener_mode(), self.accepts_told);
        self.steering = Steering::new(place, requests, arm.slow, arm.workers);
        let args = self.plan.toggles.slow_args(proxy, requests);
        self.start_own(Role::Slow, args, Orders::Piped)?;

        let deadline = Instant::now() + STEERING;
        while self.steering.as_ref().is_some_and(|steering| !steering.is_done()) {
            if self.next(deadline)?.is_none()
                && let Some(order) = self.steering.as_mut().and_then(Steering::give_up)
            {
                self.order(order);
            }
        }
        // A download that never moves is for the verdict to tell, not for us to wait on.
        let deadline = Instant::now() + MOTION;
        while self.moving.len() < self.plan.arm.slow as usize {
            if self.next(deadline)?.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// Who does not tell which worker accepted a connection leaves the choice to the kernel.
    fn placement(&self) -> Placement {
        match self.manifest.sight {
            Sight::Own | Sight::Traced => self.plan.arm.place,
            Sight::Sampled | Sight::LogOnly | Sight::ClientsOnly => Placement::Hash,
        }
    }

    /// Fetches under load, until no more should arrive.
    fn measure(&mut self, proxy: SocketAddr) -> Result<ChildId, Stop> {
        let length = self.plan.measure;
        let fast = self.start_fetches(proxy, Phase::Measure, length)?;
        self.begin(Phase::Measure)?;
        let before = self.proxy_cpu_ms();
        let deadline = Instant::now() + length;
        // News may be pending at any time: they must not make the phase longer.
        while !self.has_ended(fast) && Instant::now() < deadline {
            self.next(deadline)?;
        }
        let after = self.proxy_cpu_ms();
        let span = before.zip(after).map(|(before, after)| CounterSpan { before, after });
        self.manifest.proxy_cpu_ms = span;
        Ok(fast)
    }

    /// CPU time of the proxy so far.
    fn proxy_cpu_ms(&self) -> Option<u64> {
        let proxy = self.crew.living(Role::Proxy).pop()?;
        let own = std::env::current_exe().ok();
        let program = self.manifest.program.as_ref().map(|program| program.path.clone()).or(own)?;
        proxy_cpu::used_ms(self.crew.pid(proxy)?, &program.canonicalize().ok()?)
    }

    /// The last fetches.
    fn drain(&mut self, fast: ChildId) -> Result<(), Stop> {
        self.begin(Phase::Drain)?;
        self.await_end(fast, Instant::now())
    }

    fn start_fetches(
        &mut self,
        proxy: SocketAddr,
        phase: Phase,
        length: Duration,
    ) -> Result<ChildId, Stop> {
        let args = self.plan.toggles.fast_args(proxy, phase, length);
        Ok(self.start_own(Role::Fast, args, Orders::None)?.0)
    }

    /// Waits for the end of fetches that stop arriving at `last`.
    fn await_end(&mut self, fast: ChildId, last: Instant) -> Result<(), Stop> {
        let deadline = last + self.plan.arm.cap_us.as_duration() + LINGER;
        while !self.has_ended(fast) {
            if self.next(deadline)?.is_none() {
                let what = "did not end after the cap of its last fetch";
                return Err(Stop::Fault(self.blame(fast, what)));
            }
        }
        Ok(())
    }
}

/// When it is known which worker accepted a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AcceptsTold {
    /// As it is accepted.
    AtOnce,
    /// With its request: from outside, a thread that accepts is not told from one that will serve.
    WithRequest,
}

impl AcceptsTold {
    fn of(sight: Sight, workers: &[i32]) -> Self {
        let process = |tid: &i32| Process::new(*tid).and_then(|process| process.status());
        let are_processes = workers.iter().all(|tid| process(tid).is_ok_and(|s| s.tgid == *tid));
        if sight == Sight::Traced && !are_processes { Self::WithRequest } else { Self::AtOnce }
    }
}

/// Whether downloads wait with their requests until they are placed.
///
/// With a shared listener they must not: an idle worker would accept them all, while one that
/// relays leaves the next connection to others.
fn requests(place: Placement, mode: ListenerMode, accepts: AcceptsTold) -> Requests {
    match (place, mode, accepts) {
        (Placement::Hash, ..) | (_, ListenerMode::Shared, _) => Requests::AtOnce,
        (.., AcceptsTold::WithRequest) => Requests::AtOnce,
        (
            Placement::Spread | Placement::OneWorker,
            ListenerMode::Reuseport,
            AcceptsTold::AtOnce,
        ) => Requests::Held,
    }
}
