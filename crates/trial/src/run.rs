//! A trial that runs: does what [`super::phases`] says, tells it what happens, and files all there is to
//! be kept.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use jiff::Timestamp;
use net::clock;
use netlab::Lab;
use records::{CounterSpan, Fault, Manifest, Phase, PhaseSpan, ProxyKind, Recording, Role, Side};

use super::capture::{self, Packets};
use super::children::Children;
use super::phases::{Action, Before, Input, Phases};
use super::sampler::{Sampler, Watch};
use super::{Finished, Show, TrialOptions, TrialPlan, host};
use crate::host::Counters;
use crate::run_dir::{self, RunWriter};
use crate::signals;
use crate::withheld::{Cgroup, Neighbours};
use records::run_dir::{NETWORK, PACKETS};

mod filing;
mod start;

/// What runs, and what is known of it.
pub(super) struct Run<'a> {
    plan: &'a TrialPlan,
    children: Children,
    /// The hosts of the roles; absent: all is on loopback.
    lab: Option<&'a Lab>,
    /// Where the proxy is, if it gets less than all of its CPU.
    cgroup: Option<&'a Cgroup>,
    /// What keeps the workers from their CPUs, once fetches are measured.
    neighbours: Option<Neighbours>,
    /// Its packets, while they are kept.
    packets: Option<Packets>,
    files: RunWriter,
    show: Show,
    manifest: Manifest,
    /// Where the origin and the proxy listen, as far as known.
    listen: BTreeMap<Role, SocketAddr>,
    /// Absent: nothing is to be seen from outside, or nobody could be found to look.
    sampler: Option<Sampler>,
    stolen_ms: Option<u64>,
    /// The kernel's counters when the downloads were about to start.
    counters: Counters,
    /// CPU time of the proxy when the measure phase began.
    proxy_cpu_ms: Option<u64>,
    next_flush: Instant,
    /// The first thing that could not be done or written.
    broken: Option<anyhow::Error>,
}

/// How often records go to the disk.
const FLUSH: Duration = Duration::from_millis(200);

/// The network of the proxy, if it is not ours.
fn proxy_net(lab: Option<&Lab>) -> Option<PathBuf> {
    let host = lab?.host(Role::Proxy.name())?;
    Some(host.net_path())
}

/// Runs a trial; `command` is what was typed, for the manifest. Call it on the main thread: children end
/// with the thread that started them.
///
/// # Errors
/// The records could not be written, or this host does not let us start. Nothing is left running.
pub fn run(plan: &TrialPlan, command: Vec<String>, show: Show) -> anyhow::Result<Finished> {
    const HOST: &str = "failed to set up the harness on this host";
    let TrialOptions { arm, idle, duration, hold, recording, .. } = &plan.trial;
    let children = Children::default();
    signals::report_to(children.sender()).context(HOST)?;
    if let Some(cpus) = &plan.cpus.load {
        // Threads started from here on inherit it.
        net::cpu::pin_current_thread(cpus.as_slice()).context(HOST)?;
    }
    // Children do so for themselves. Here two are open for each worker that is watched.
    net::role::raise_open_files();
    // The hosts that the roles run on, if they have some of their own.
    let lab = plan.lab.as_deref().map(Lab::up).transpose();
    let lab = lab.context("failed to make the hosts of the run")?;
    let cgroup = arm.faults.cpu_quota.map(|_| Cgroup::make()).transpose().context(QUOTA)?;
    let started = Timestamp::now();
    let label = plan.files.label.as_deref().unwrap_or_default();
    let files = RunWriter::create(&plan.runs_dir, started, label).context(RECORD)?;
    let manifest = Manifest {
        command,
        started_at: started.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        recording: *recording,
        host: host::read(&plan.cpus),
        ..Manifest::begun(arm.clone(), *idle, *duration, *hold)
    };
    let sampler = match recording {
        Recording::Full => {
            let (trial, cpus) = (children.sender(), manifest.host.worker_cpus.clone());
            Sampler::start(trial, cpus, arm.load.slow, proxy_net(lab.as_ref())).ok()
        }
        Recording::Minimal => None,
    };
    let listen = match arm.server.kind {
        ProxyKind::Url(addr) => BTreeMap::from([(Role::Proxy, addr)]),
        _ => BTreeMap::new(),
    };
    let run = Run {
        plan,
        children,
        lab: lab.as_ref(),
        cgroup: cgroup.as_ref(),
        neighbours: None,
        packets: None,
        files,
        show,
        manifest,
        listen,
        sampler,
        stolen_ms: host::stolen_ms(),
        counters: Counters::default(),
        proxy_cpu_ms: None,
        next_flush: Instant::now(),
        broken: None,
    };
    run.complete()
}

/// What fails where the run directory does not take the records.
const RECORD: &str = "failed to record the run";
/// What fails where no control group can be made for the proxy, or none with a quota.
const QUOTA: &str = "failed to withhold CPU time from the proxy (--cpu-quota)";

impl Run<'_> {
    /// From the first phase to the last, whatever comes between; then the manifest is complete.
    fn complete(mut self) -> anyhow::Result<Finished> {
        if let Some(lab) = self.lab {
            let hosts = lab.read_back().context("failed to make the hosts of the run")?;
            run_dir::write_json(&self.files.dir().join(NETWORK), &hosts).context(RECORD)?;
        }
        let mut phases = Phases::new(&self.plan.trial);
        let actions = phases.on(Input::Begin(self.plan.origin), Instant::now());
        self.perform(&mut phases, actions);
        while let Some(until) = phases.until() {
            let actions = self.step(&mut phases, until);
            self.perform(&mut phases, actions);
        }
        self.file_last_samples(&mut phases);
        self.end_phase();
        self.manifest.host.stolen_ms = self.stolen_ms();
        self.manifest.interrupted = phases.interrupted().map(signals::name);
        let flushed = self.files.flush().context(RECORD);
        // Also after a failure: a manifest is better than none, and an old one stays whole.
        let written = self.files.manifest(&self.manifest).context(RECORD);
        self.broken.map_or(Ok(()), Err).and(flushed).and(written)?;
        Ok(Finished {
            dir: self.files.dir().to_owned(),
            faults: self.manifest.faults,
            interrupted: phases.interrupted(),
        })
    }

    /// Waits for what happens next, files it, and says what is to be done then.
    fn step(&mut self, phases: &mut Phases<'_>, until: Instant) -> Vec<Action> {
        if let Err(error) = self.flush() {
            return self.fail(error, phases);
        }
        let input = match self.children.next(until.min(self.next_flush)) {
            None => Ok((Instant::now() >= until).then_some(Input::Deadline)),
            Some(event) => self.file(event).context(RECORD),
        };
        let mut actions = match input {
            Ok(input) => input.map_or_else(Vec::new, |input| phases.on(input, Instant::now())),
            Err(error) => self.fail(error, phases),
        };
        let now = Instant::now();
        if phases.is_overdue(now) {
            actions.extend(phases.on(Input::Deadline, now));
        }
        actions
    }

    /// Waits for the end of the sampling, and files what it still had to report.
    fn file_last_samples(&mut self, phases: &mut Phases<'_>) {
        // Milliseconds at most: nobody is left whose sockets it could wait for.
        let Some(sampler) = self.sampler.take() else { return };
        sampler.finish();
        while let Some(event) = self.children.next(Instant::now()) {
            match self.file(event).context(RECORD) {
                Ok(Some(input)) => drop(phases.on(input, Instant::now())),
                Ok(None) => {}
                Err(error) => drop(self.fail(error, phases)),
            }
        }
    }

    fn perform(&mut self, phases: &mut Phases<'_>, actions: Vec<Action>) {
        for action in actions {
            let Err(error) = self.act(phases, action) else { continue };
            let instead = self.fail(error, phases);
            if !instead.is_empty() {
                return self.perform(phases, instead);
            }
        }
    }

    /// Notes what cannot be done. Who reads the directory later must not take it for a whole run.
    fn fail(&mut self, error: anyhow::Error, phases: &mut Phases<'_>) -> Vec<Action> {
        if !phases.is_teardown() {
            self.fault(Side::Host, error.to_string());
        }
        self.broken.get_or_insert(error);
        phases.on(Input::Broken, Instant::now())
    }

    fn act(&mut self, phases: &mut Phases<'_>, action: Action) -> anyhow::Result<()> {
        match action {
            Action::Begin(phase, before) => self.begin(phase, before)?,
            Action::Start(start) => {
                let asks = matches!(start.role(), Role::Fast | Role::Slow);
                if asks && self.plan.files.capture && !self.is_captured() {
                    self.keep_packets()?;
                }
                self.start(start)?;
                phases.started(start.role());
            }
            Action::Order(order) => self.children.order(order),
            Action::Dismiss(role) => self.children.dismiss(role),
            Action::Kill(role) => self.children.kill(role),
            Action::Blame(role, what) => {
                let (tail, name) = (self.children.stderr_tail(role), role.name());
                let tail = tail.unwrap_or_default();
                let what = if tail.starts_with(&format!("{name}: ")) {
                    // Its own error, which begins with its name, says more than how it ended.
                    tail
                } else if tail.is_empty() {
                    format!("the {name} role {what}")
                } else {
                    format!("the {name} role {what}; its stderr ends with: {tail}")
                };
                self.fault(Side::from(role), what);
            }
        }
        Ok(())
    }

    fn begin(&mut self, phase: Phase, before: Before) -> anyhow::Result<()> {
        if phase == Phase::Drain {
            let after = self.proxy_cpu_ms();
            let span = self.proxy_cpu_ms.zip(after);
            self.manifest.proxy_cpu_ms = span.map(|(before, after)| CounterSpan { before, after });
        }
        if before == Before::Ended {
            self.end_phase();
        }
        self.manifest.phases.push(PhaseSpan { phase, start_ns: clock::now(), end_ns: None });
        self.show.phase(phase, self.plan.trial.length(phase));
        self.watch(Watch::Phase(phase));
        let written = self.files.manifest(&self.manifest);
        match phase {
            Phase::Load => self.counters = self.read_counters(),
            Phase::Measure => {
                self.proxy_cpu_ms = self.proxy_cpu_ms();
                self.withhold_cpu()?;
            }
            Phase::Teardown => {
                self.neighbours = None;
                self.end_capture(None);
                // What is seen from outside ends here; what follows is the end of all there is to see.
                self.manifest.kernel_counters = self.counters.until(&self.read_counters());
                if let Some(sampler) = &mut self.sampler {
                    sampler.stop();
                }
            }
            Phase::Setup | Phase::Idle | Phase::Drain => {
                if let (Phase::Setup, Some(addr)) = (phase, self.listen.get(&Role::Proxy)) {
                    self.watch(Watch::Listening(Role::Proxy, *addr));
                }
            }
        }
        written.context(RECORD)
    }

    /// From now on packets are kept.
    fn keep_packets(&mut self) -> anyhow::Result<()> {
        let (net, file) = (proxy_net(self.lab), self.files.dir().join(PACKETS));
        let proxy = self.listen.get(&Role::Proxy).copied();
        let proxy = proxy.ok_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable));
        let packets = proxy.and_then(|proxy| Packets::start(proxy, net.as_deref(), &file));
        self.packets = Some(packets.context("failed to keep packets (--capture)")?);
        Ok(())
    }

    /// Whether packets are kept, or were.
    const fn is_captured(&self) -> bool {
        self.packets.is_some() || self.manifest.capture.is_some()
    }

    /// From now on none are kept.
    fn end_capture(&mut self, why: Option<&str>) {
        if let Some(packets) = self.packets.take() {
            self.manifest.capture = Some(packets.finish(why));
        }
    }

    /// From now on the workers get less CPU than they ask for, if that is the fault.
    fn withhold_cpu(&mut self) -> anyhow::Result<()> {
        let faults = &self.plan.trial.arm.faults;
        if let Some((cgroup, percent)) = self.cgroup.zip(faults.cpu_quota) {
            cgroup.limit(percent).context(QUOTA)?;
        }
        let cpus = &self.manifest.host.worker_cpus;
        self.neighbours = faults.neighbours.map(|count| Neighbours::start(count, cpus));
        Ok(())
    }

    /// Notes that the phase in progress, if any, came to its own end.
    fn end_phase(&mut self) {
        if let Some(last) = self.manifest.phases.last_mut() {
            last.end_ns = Some(clock::now());
        }
    }

    /// What is on the disk is there even if we are killed.
    fn flush(&mut self) -> anyhow::Result<()> {
        let now = Instant::now();
        if now >= self.next_flush {
            self.next_flush = now + FLUSH;
            self.files.flush().context(RECORD)?;
            if self.packets.is_some() && !capture::has_room(self.files.dir()) {
                self.end_capture(Some("the disk has less than 256 MiB of room"));
            }
        }
        Ok(())
    }

    /// Hands on what there is to look at from outside.
    fn watch(&self, watch: Watch) {
        if let Some(sampler) = &self.sampler {
            sampler.watch(watch);
        }
    }

    /// A fault noticed now.
    fn fault(&mut self, side: Side, message: String) {
        let phase = self.manifest.phases.last().map_or(Phase::Setup, |span| span.phase);
        self.manifest.faults.push(Fault { side, phase, message });
    }

    /// CPU time of the proxy so far.
    fn proxy_cpu_ms(&self) -> Option<u64> {
        let own = std::env::current_exe().ok();
        let program = self.manifest.program.as_ref().map(|program| program.path.clone()).or(own)?;
        host::used_ms(self.children.pid(Role::Proxy)?, &program.canonicalize().ok()?)
    }

    /// The kernel's counters now, if they are to be recorded.
    fn read_counters(&self) -> Counters {
        match (self.plan.trial.recording, proxy_net(self.lab)) {
            (Recording::Minimal, _) => Counters::default(),
            (Recording::Full, None) => Counters::read(),
            (Recording::Full, Some(net)) => {
                net::role::in_net(&net, Counters::read).unwrap_or_default()
            }
        }
    }

    /// CPU time the hypervisor withheld since the trial began.
    fn stolen_ms(&self) -> u64 {
        let (now, then) = (host::stolen_ms(), self.stolen_ms);
        now.unwrap_or(0).saturating_sub(then.unwrap_or(0))
    }
}
