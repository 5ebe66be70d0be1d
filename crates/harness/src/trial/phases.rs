//! The phases of a trial up to its teardown, in order. Each begins when what it needs is ready.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use records::{ListenerMode, Phase, Placement, Role};

use super::Stop;
use super::crew::{ChildId, Orders};
use super::placement::{Requests, Steering};
use super::sampler::Watch;
use super::stage::Stage;
use crate::roles::ProxySetup;
use crate::run_dir::ACCESS_LOG;

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
        let (id, origin) =
            self.start(Role::Origin, plan.toggles.origin_args(plan.idle), Orders::None)?;
        let upstream = self.listening(id, origin.listen)?;
        let log = self.run.dir().join(ACCESS_LOG);
        let args = plan.toggles.proxy_args(ProxySetup {
            upstream,
            access_log: plan.access_log.as_ref().unwrap_or(&log),
            hold: plan.hold,
            recording: plan.recording,
            workers: plan.cpus.workers.as_ref(),
        });
        let (id, ready) = self.start(Role::Proxy, args, Orders::None)?;
        self.watch(Watch::Workers { pid: ready.pid, tids: ready.worker_tids });
        self.manifest.listeners = ready.listeners;
        self.listening(id, ready.listen)
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
        let requests = requests(arm.place, self.plan.toggles.listener_mode());
        self.steering = Steering::new(arm.place, requests, arm.slow, arm.workers);
        let args = self.plan.toggles.slow_args(proxy, requests);
        self.start(Role::Slow, args, Orders::Piped)?;

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

    /// Fetches under load, until no more should arrive.
    fn measure(&mut self, proxy: SocketAddr) -> Result<ChildId, Stop> {
        let length = self.plan.measure;
        let fast = self.start_fetches(proxy, Phase::Measure, length)?;
        self.begin(Phase::Measure)?;
        let deadline = Instant::now() + length;
        // News may be pending at any time: they must not make the phase longer.
        while !self.has_ended(fast) && Instant::now() < deadline {
            self.next(deadline)?;
        }
        Ok(fast)
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
        Ok(self.start(Role::Fast, args, Orders::None)?.0)
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

/// Whether downloads wait with their requests until they are placed.
///
/// With a shared listener they must not: an idle worker would accept them all, while one that
/// relays leaves the next connection to others.
fn requests(place: Placement, mode: ListenerMode) -> Requests {
    match (place, mode) {
        (Placement::Spread | Placement::OneWorker, ListenerMode::Reuseport) => Requests::Held,
        (Placement::Hash, _) | (_, ListenerMode::Shared) => Requests::AtOnce,
    }
}
