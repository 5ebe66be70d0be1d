//! What all phases of a trial share: the crew, the run directory, the clockwork that files what
//! roles say and what is seen of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Instant;

use jiff::Timestamp;
use net::clock;
use netlab::{Host, Lab};
use records::{
    Effective, Fault, Manifest, Phase, PhaseSpan, Ready, Record, Recording, Role, RoleProcess,
    SCHEMA_VERSION, Side, Sight, SlowOrder,
};

use super::counters::Counters;
use super::crew::{ChildId, Crew, Life, News, Orders};
use super::phases::AcceptsTold;
use super::placement::Steering;
use super::sampler::{Sampler, Watch};
use super::{Stop, TrialError, TrialPlan, host, length};
use crate::progress::Progress;
use crate::roles;
use crate::run_dir::NETWORK;
use crate::run_dir::write::{RunWriter, WriteError};

/// A trial that runs.
pub(super) struct Stage<'a> {
    pub(super) plan: &'a TrialPlan,
    pub(super) crew: Crew,
    /// The hosts of the roles; absent: all is on loopback.
    pub(super) lab: Option<&'a Lab>,
    pub(super) run: RunWriter,
    pub(super) progress: Progress,
    pub(super) manifest: Manifest,
    /// When accepted connections are told of.
    pub(super) accepts_told: AcceptsTold,
    pub(super) steering: Option<Steering>,
    /// Slots of downloads that have received something over the connection they have now.
    pub(super) moving: BTreeSet<u32>,
    /// Absent: nothing is to be seen from outside, or nobody could be found to look.
    pub(super) sampler: Option<Sampler>,
    stolen_ms: Option<u64>,
    /// The kernel's counters when the downloads were about to start.
    pub(super) counters: Counters,
    next_draw: Instant,
    /// The slot of each port dialed.
    slots: BTreeMap<u16, u32>,
}

/// The network of the proxy, if it is not ours.
fn proxy_net(lab: Option<&Lab>) -> Option<PathBuf> {
    let host = lab?.host(Role::Proxy.name()).ok()?;
    Some(host.net_path())
}

/// What a phase may wait for.
#[derive(Debug)]
pub(super) enum Happening {
    /// A role is up.
    Ready(ChildId, Box<Ready>),
    /// A role has ended.
    Ended(ChildId, ExitStatus),
    /// A role said what is no record.
    Garbled(ChildId, String),
    /// SIGINT or SIGTERM.
    Signal(i32),
    /// SIGUSR1: no more fetches in this phase.
    GoOn,
    /// Something was filed.
    Filed,
}

/// The program itself, also after its file was replaced: proc(5).
const OURSELVES: &str = "/proc/self/exe";

impl<'a> Stage<'a> {
    pub(super) fn new(
        plan: &'a TrialPlan,
        crew: Crew,
        run: RunWriter,
        progress: Progress,
        started: Timestamp,
        lab: Option<&'a Lab>,
    ) -> Self {
        let manifest = Manifest {
            schema_version: SCHEMA_VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: plan.command.clone(),
            started_at: started.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            arm: plan.arm.clone(),
            idle_us: plan.idle.into(),
            measure_us: plan.measure.into(),
            hold_us: plan.hold,
            recording: plan.recording,
            workers: None,
            listeners: Vec::new(),
            kernel_counters: BTreeMap::new(),
            program: None,
            proxy_cpu_ms: None,
            log_lines_unread: 0,
            answers_lost: 0,
            sight: Sight::Own,
            host: host::read(&plan.cpus),
            processes: Vec::new(),
            phases: Vec::new(),
            faults: Vec::new(),
            interrupted: None,
        };
        let worker_cpus = manifest.host.worker_cpus.clone();
        let sampler = match plan.recording {
            Recording::Full => Sampler::start(crew.sender(), worker_cpus, proxy_net(lab)).ok(),
            Recording::Minimal => None,
        };
        Self {
            plan,
            crew,
            lab,
            run,
            progress,
            manifest,
            accepts_told: AcceptsTold::AtOnce,
            steering: None,
            moving: BTreeSet::new(),
            sampler,
            stolen_ms: host::stolen_ms(),
            counters: Counters::default(),
            next_draw: Instant::now(),
            slots: BTreeMap::new(),
        }
    }

    /// Ends the phase before and begins `phase`.
    pub(super) fn begin(&mut self, phase: Phase) -> Result<(), WriteError> {
        self.end_phase();
        self.enter(phase)
    }

    /// Begins `phase`; the one before keeps no end unless it came to it.
    pub(super) fn enter(&mut self, phase: Phase) -> Result<(), WriteError> {
        self.manifest.phases.push(PhaseSpan { phase, start_ns: clock::now(), end_ns: None });
        self.progress.phase(phase, length(self.plan, phase));
        self.watch(Watch::Phase(phase));
        self.run.manifest(&self.manifest)
    }

    /// Notes that the phase in progress, if any, came to its own end.
    pub(super) fn end_phase(&mut self) {
        if let Some(last) = self.manifest.phases.last_mut() {
            last.end_ns = Some(clock::now());
        }
    }

    /// The phase in progress.
    pub(super) fn phase(&self) -> Phase {
        self.manifest.phases.last().map_or(Phase::Setup, |span| span.phase)
    }

    /// Starts a role by its subcommand and waits until it is ready.
    pub(super) fn start(
        &mut self,
        role: Role,
        word: &str,
        args: Vec<String>,
        orders: Orders,
    ) -> Result<(ChildId, Ready), Stop> {
        let own = roles::role_args(word, args, self.plan.cpus.of(role));
        let mut command = self.entrance(role)?;
        let program = command.len();
        command.push(OURSELVES.into());
        command.extend(own.into_iter().map(OsString::from));
        let id = self
            .crew
            .start(role, &command, orders)
            .map_err(|source| Stop::Broken(TrialError::Start { role, source }))?;
        let mut command: Vec<String> =
            command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        if let (Ok(own), Some(word)) = (std::env::current_exe(), command.get_mut(program)) {
            *word = own.display().to_string();
        }
        let pid = self.crew.pid(id).unwrap_or(0);
        self.watch(Watch::Process(role, pid));
        let effective = Effective::default();
        self.manifest.processes.push(RoleProcess { role, pid, command, effective });
        self.await_ready(role, id)
    }

    /// The words that, before a command, run it on the host of `role`.
    fn entrance(&self, role: Role) -> Result<Vec<OsString>, Stop> {
        let host = self.lab.zip(roles::host_of(role)).map(|(lab, name)| lab.host(name));
        let host = host.transpose().map_err(|error| Stop::Broken(error.into()))?;
        Ok(host.map(Host::enter).unwrap_or_default())
    }

    /// Where `role` listens.
    pub(super) fn addr(&self, role: Role) -> IpAddr {
        let host = self.lab.zip(roles::host_of(role));
        let host = host.and_then(|(lab, name)| lab.host(name).ok());
        host.map_or(roles::LOOPBACK, Host::addr)
    }

    /// Writes down what the hosts of the run are, as the kernel has them.
    pub(super) fn describe_network(&self) -> Result<(), TrialError> {
        if let Some(lab) = self.lab {
            self.run.document(NETWORK, &lab.read_back()?)?;
        }
        Ok(())
    }

    fn await_ready(&mut self, role: Role, id: ChildId) -> Result<(ChildId, Ready), Stop> {
        let ready = roles::patience(role, &self.plan.arm.proxy).ready;
        let deadline = Instant::now() + ready;
        loop {
            match self.next(deadline)? {
                Some(Happening::Ready(who, told)) if who == id => {
                    let pid = told.pid;
                    let its = |process: &&mut RoleProcess| process.pid == pid;
                    if let Some(process) = self.manifest.processes.iter_mut().rev().find(its) {
                        process.effective = told.effective.clone();
                    }
                    return Ok((id, *told));
                }
                // The fast role may end well before we look; the others may not end at all.
                Some(Happening::Ended(who, status)) if who == id => {
                    return Err(Stop::Fault(self.death(id, status)));
                }
                Some(_) => {}
                None => {
                    let what = format!("was not ready within {} s", ready.as_secs());
                    return Err(Stop::Fault(self.blame(id, &what)));
                }
            }
        }
    }

    /// What happens next, until `deadline`. What ends a trial comes as an error.
    pub(super) fn next(&mut self, deadline: Instant) -> Result<Option<Happening>, Stop> {
        match self.wait(deadline)? {
            Some(Happening::Signal(signal)) => Err(Stop::Interrupted(signal)),
            Some(Happening::Garbled(id, line)) => Err(Stop::Fault(self.garbled(id, &line))),
            Some(Happening::Ended(id, status)) if !self.may_end(id, status) => {
                Err(Stop::Fault(self.death(id, status)))
            }
            Some(Happening::GoOn) => {
                self.go_on();
                Ok(Some(Happening::Filed))
            }
            other => Ok(other),
        }
    }

    /// Ends a phase of fetches as if its length were over: those under way still end by themselves.
    /// Other phases end when they can.
    fn go_on(&mut self) {
        if matches!(self.phase(), Phase::Idle | Phase::Measure) {
            self.crew.living(Role::Fast).into_iter().for_each(|id| self.crew.dismiss(id));
        }
    }

    /// What happens next, until `deadline`, whatever it is. Files records meanwhile.
    pub(super) fn wait(&mut self, deadline: Instant) -> Result<Option<Happening>, WriteError> {
        loop {
            self.tick()?;
            let Some(news) = self.crew.next(deadline.min(self.next_draw)) else {
                if Instant::now() >= deadline {
                    return Ok(None);
                }
                continue;
            };
            return Ok(Some(match news {
                News::Signal(signal) => Happening::Signal(signal),
                News::GoOn => Happening::GoOn,
                News::Garbled(id, line) => Happening::Garbled(id, line),
                News::Ended(id, status) => Happening::Ended(id, status),
                News::Said(id, line) => {
                    if let Some(role) = self.crew.role(id) {
                        self.run.note(role, &line)?;
                    }
                    Happening::Filed
                }
                News::Record(id, record) => match *record {
                    Record::Ready(ready) => Happening::Ready(id, Box::new(ready)),
                    Record::UnreadLines(unread) => {
                        let lines = &mut self.manifest.log_lines_unread;
                        *lines = lines.saturating_add(unread.lines);
                        Happening::Filed
                    }
                    Record::AnswersLost(lost) => {
                        let answers = &mut self.manifest.answers_lost;
                        *answers = answers.saturating_add(lost.requests);
                        Happening::Filed
                    }
                    record if self.crew.role(id) == Some(Role::Trace) => {
                        self.run.file_traced(&record)?;
                        Happening::Filed
                    }
                    record => {
                        self.run.file(&record)?;
                        self.observe(&record);
                        Happening::Filed
                    }
                },
                News::Sampled(records) => {
                    records.iter().try_for_each(|record| self.run.file(record))?;
                    Happening::Filed
                }
            }));
        }
    }

    /// Draws.
    fn tick(&mut self) -> Result<(), WriteError> {
        let now = Instant::now();
        if now >= self.next_draw {
            self.next_draw = now + Progress::INTERVAL;
            self.progress.draw();
            // What is on the disk is there even if we are killed.
            self.run.flush()?;
        }
        Ok(())
    }

    /// Hands on what there is to look at from outside.
    pub(super) fn watch(&self, watch: Watch) {
        if let Some(sampler) = &self.sampler {
            sampler.watch(watch);
        }
    }

    /// What a record means to the trial while it runs.
    fn observe(&mut self, record: &Record) {
        let order = match record {
            Record::Fetch(fetch) => {
                self.progress.fetch(fetch);
                None
            }
            Record::DownloadInterval(interval) => {
                self.progress.downloads(interval);
                let received = (0..).zip(&interval.bytes).filter(|(_, bytes)| bytes.0 > 0);
                self.moving.extend(received.map(|(slot, _)| slot));
                None
            }
            Record::Download(download) => {
                if let Some(port) = download.client_port {
                    self.watch(Watch::Ended(port));
                }
                None
            }
            Record::Dialed(dialed) => {
                let (slot, client_port) = (dialed.slot, dialed.client_port);
                self.watch(Watch::Dialed { slot, client_port });
                self.slots.insert(dialed.client_port, dialed.slot);
                self.steering.as_mut().and_then(|steering| steering.dialed(dialed))
            }
            Record::Accepted(accepted) => {
                self.steering.as_mut().and_then(|steering| steering.accepted(accepted))
            }
            _ => None,
        };
        if let Some(order) = order {
            self.order(order);
        }
    }

    /// Hands an order to the slow role.
    pub(super) fn order(&mut self, order: SlowOrder) {
        if let SlowOrder::Redial { client_port } = order
            && let Some(slot) = self.slots.get(&client_port)
        {
            self.moving.remove(slot);
        }
        self.crew.living(Role::Slow).into_iter().for_each(|id| self.crew.order(id, order));
    }

    /// Only the fetches end by themselves, and well.
    fn may_end(&self, id: ChildId, status: ExitStatus) -> bool {
        self.crew.role(id) == Some(Role::Fast) && status.success()
    }

    /// The fault of a role that died unasked.
    fn death(&self, id: ChildId, status: ExitStatus) -> Fault {
        self.blame(id, &format!("ended unasked ({status})"))
    }

    fn garbled(&self, id: ChildId, line: &str) -> Fault {
        let shown: String = line.chars().take(120).collect();
        self.blame(id, &format!("printed a line that is not a record: {shown:?}"))
    }

    /// A fault of a role, with the last line it said.
    pub(super) fn blame(&self, id: ChildId, what: &str) -> Fault {
        let (side, name) = match self.crew.role(id) {
            Some(role) => (Side::from(role), role.name()),
            None => (Side::Host, "unknown"),
        };
        let words = self.crew.stderr_tail(id);
        let said = words.map(|words| format!("; its last words: {words}")).unwrap_or_default();
        self.fault(side, format!("the {name} role {what}{said}"))
    }

    /// A fault noticed now.
    pub(super) fn fault(&self, side: Side, message: String) -> Fault {
        Fault { side, phase: self.phase(), message }
    }

    /// The kernel's counters now, if they are to be recorded.
    pub(super) fn read_counters(&self) -> Counters {
        match self.plan.recording {
            Recording::Full => match proxy_net(self.lab) {
                None => Counters::read(),
                Some(net) => netlab::in_net(&net, Counters::read).unwrap_or_default(),
            },
            Recording::Minimal => Counters::default(),
        }
    }

    /// CPU time the hypervisor withheld since the trial began.
    pub(super) fn stolen_ms(&self) -> u64 {
        let (now, then) = (host::stolen_ms(), self.stolen_ms);
        now.unwrap_or(0).saturating_sub(then.unwrap_or(0))
    }

    /// Whether a child is dead and reaped.
    pub(super) fn has_ended(&self, id: ChildId) -> bool {
        matches!(self.crew.life(id), Life::Ended(_))
    }
}
