//! The phases of a trial as a state machine: told what happened, it says what is to be done. Pure: no
//! process, no file and no clock of its own.
//!
//! `setup` (origin, proxy) - `idle` (fetches to their end) - `load` (downloads are
//! placed and begin to move) - `measure` (fetches) - `drain` (the last of them) - `teardown` (all
//! children are asked to end, made to, and reaped). Whatever happens, the last is teardown.

use std::collections::BTreeSet;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use records::{ListenerMode, Phase, Placement, Requests, Role, Visibility};

use super::placement::Steering;
use crate::{Origin, TrialOptions, roles};

mod exchange;
#[cfg(test)]
mod tests;

pub(super) use exchange::{Action, Before, Input, Start};

/// How long downloads may be steered.
const STEERING: Duration = Duration::from_secs(3);
/// How long downloads may take to receive their first bytes.
const MOTION: Duration = Duration::from_secs(3);
/// How long the fast role may take to end after the cap of its last fetch. It takes milliseconds;
/// this is for a host that leaves it no CPU, which the verdict will tell from its lag.
const LINGER: Duration = Duration::from_secs(15);
/// Time for all children together to end when asked, once somebody has pressed Ctrl-C: within 2 s
/// they are gone, also on a busy host where a killed process takes its time to die.
const HASTE: Duration = Duration::from_millis(800);
/// Time for the kernel to end a killed child.
const DEATH: Duration = Duration::from_secs(10);
/// Who is stopped when. Clients first, so that the proxy and the origin see their connections end and
/// can tell of them.
const STOPPED: [Role; 4] = [Role::Fast, Role::Slow, Role::Proxy, Role::Origin];

/// A trial on its way.
#[derive(Debug)]
pub(super) struct Phases<'a> {
    trial: &'a TrialOptions,
    phase: Phase,
    state: State,
    /// Roles with a process that is not reaped.
    running: BTreeSet<Role>,
    /// Roles that were blamed: what else comes of them has the same cause.
    blamed: BTreeSet<Role>,
    visibility: Visibility,
    /// As many as were found, else as were asked for.
    workers: u32,
    /// Whether downloads may wait with their requests.
    requests: Requests,
    /// Absent: no download was started.
    steering: Option<Steering>,
    /// By when all children must have ended, once somebody has pressed Ctrl-C, and at once when they did so
    /// again; absent: each has its own time.
    all_by: Option<Instant>,
    interrupted: Option<i32>,
    /// When what is told happened.
    now: Instant,
    /// What is to be done about it.
    actions: Vec<Action>,
}

/// What the trial waits for, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// That a role is ready.
    Starting(Role, Instant),
    /// The end of the fetches.
    Fetching(Instant),
    /// That every download is at its worker.
    Steering(Instant),
    /// That every download moves.
    Moving(Instant),
    /// The end of the measure phase.
    Measuring(Instant),
    /// The end of a child that was asked to end, and may have been killed.
    Stopping { role: Role, asked: Instant, killed: Option<Instant> },
    /// Nothing more.
    Over,
}

impl<'a> Phases<'a> {
    /// The phases of a trial, before the first of them.
    pub(super) fn new(trial: &'a TrialOptions) -> Self {
        let elsewhere = trial.arm.server.kind.is_not_started();
        Self {
            trial,
            phase: Phase::Setup,
            state: State::Over,
            running: BTreeSet::new(),
            blamed: BTreeSet::new(),
            visibility: if elsewhere { Visibility::ClientsOnly } else { Visibility::Own },
            workers: trial.arm.proxy.workers,
            requests: Requests::Held,
            steering: None,
            all_by: None,
            interrupted: None,
            now: Instant::now(),
            actions: Vec::new(),
        }
    }

    /// Until when the state may last; `None`: nothing is left to be done.
    pub(super) fn until(&self) -> Option<Instant> {
        match self.state {
            State::Starting(_, until)
            | State::Fetching(until)
            | State::Steering(until)
            | State::Moving(until)
            | State::Measuring(until) => Some(until),
            State::Stopping { killed: Some(at), .. } => Some(at + DEATH),
            State::Stopping { role, asked, killed: None } => {
                let own = asked + self.timeouts(role).end;
                Some(self.all_by.map_or(own, |all| all.min(own)))
            }
            State::Over => None,
        }
    }

    /// Whether the state must not last longer, though there may be more to hear: events can be pending at
    /// any time, and neither the measure phase nor the life of a child gets longer by them.
    pub(super) fn is_overdue(&self, now: Instant) -> bool {
        let strict = matches!(self.state, State::Measuring(_) | State::Stopping { .. });
        strict && self.until().is_some_and(|until| now >= until)
    }

    /// Whether this is the last phase.
    pub(super) fn is_teardown(&self) -> bool {
        self.phase == Phase::Teardown
    }

    /// The signal that cut the trial short.
    pub(super) fn interrupted(&self) -> Option<i32> {
        self.interrupted
    }

    /// A role that was to be started has a process.
    pub(super) fn started(&mut self, role: Role) {
        self.running.insert(role);
    }

    /// What is to be done after `input`, which happened at `now`.
    pub(super) fn on(&mut self, input: Input, now: Instant) -> Vec<Action> {
        self.now = now;
        match input {
            Input::Begin(origin) => {
                self.enter(Phase::Setup);
                match origin {
                    Origin::None => self.start_proxy(),
                    Origin::Ours => self.start(Start::Origin),
                }
            }
            Input::Ready(role) => self.ready(role),
            Input::ProxyReady(visibility, workers, requests) => {
                (self.visibility, self.requests) = (visibility, requests);
                self.workers = workers.unwrap_or(self.workers);
                self.ready(Role::Proxy);
            }
            Input::Record(record) => {
                let order = self.steering.as_mut().and_then(|steering| steering.observe(&record));
                self.actions.extend(order.map(Action::Order));
                self.steered();
            }
            Input::Ended(role, status) => self.ended(role, status),
            Input::Signal(signal) => {
                self.interrupted.get_or_insert(signal);
                self.all_by = Some(self.all_by.map_or(now + HASTE, |_| now));
                self.cut_short();
            }
            // Those under way still end by themselves. Other phases end when they can.
            Input::GoOn if matches!(self.phase, Phase::Idle | Phase::Measure) => {
                self.actions.push(Action::Dismiss(Role::Fast));
            }
            Input::GoOn => {}
            Input::Fault(role, what) if !self.is_teardown() => self.fail_by(role, what),
            // A last record that cannot be read is lost too; of who is hurried it may be torn.
            Input::Fault(role, what) if self.interrupted.is_none() => self.blame(role, what),
            Input::Fault(..) => {}
            Input::Broken => self.cut_short(),
            Input::Deadline => self.overdue(),
        }
        std::mem::take(&mut self.actions)
    }

    fn ready(&mut self, role: Role) {
        // Who was asked to end before it was ready is not waited for any more.
        if !matches!(self.state, State::Starting(awaited, _) if awaited == role) {
            return;
        }
        match (role, self.phase) {
            (Role::Origin, _) => self.start_proxy(),
            (Role::Proxy | Role::Trace, _) => self.start_idle(),
            (Role::Slow, _) => {
                self.state = State::Steering(self.now + STEERING);
                self.steered();
            }
            (Role::Fast, Phase::Load) => {
                self.enter(Phase::Measure);
                self.state = State::Measuring(self.now + self.trial.duration.as_duration());
            }
            (Role::Fast, _) => {
                self.enter(Phase::Idle);
                self.await_last(self.now + self.trial.idle.as_duration());
            }
        }
    }

    /// Starts the proxy, unless it runs already or there is none.
    fn start_proxy(&mut self) {
        if self.trial.arm.server.kind.is_not_started() {
            self.start_idle();
        } else {
            self.start(Start::Proxy);
        }
    }

    fn start_idle(&mut self) {
        self.start(Start::Fast(Phase::Idle));
    }

    /// Downloads are started, if there are any.
    fn load(&mut self) {
        self.enter(Phase::Load);
        if self.trial.arm.load.slow == 0 {
            return self.start(Start::Fast(Phase::Measure));
        }
        // Who does not tell which worker accepted a connection leaves the choice to the kernel.
        let tells = matches!(self.visibility, Visibility::Own | Visibility::Traced);
        let place = if tells { self.trial.arm.place } else { Placement::Hash };
        let requests = requests(place, self.trial.arm.proxy.listener_mode(), self.requests);
        let (slow, workers) = (self.trial.arm.load.slow, self.workers);
        self.steering = Some(Steering::new(place, requests, slow, workers));
        self.start(Start::Slow(requests));
    }

    /// Goes on as far as the downloads are: placed, then moving, then measured beside.
    fn steered(&mut self) {
        let Some(steering) = &self.steering else { return };
        let (placed, move_all) = (steering.is_done(), steering.all_move());
        if placed && matches!(self.state, State::Steering(_)) {
            self.state = State::Moving(self.now + MOTION);
        }
        if move_all && matches!(self.state, State::Moving(_)) {
            self.start(Start::Fast(Phase::Measure));
        }
    }

    /// Only the fetches end by themselves, and well.
    fn ended(&mut self, role: Role, status: ExitStatus) {
        self.running.remove(&role);
        let well = role == Role::Fast && status.success();
        match self.state {
            State::Over => {}
            State::Stopping { role: awaited, .. } => {
                if role == awaited {
                    // It says itself what it could not bring to an end.
                    if status.code().is_some_and(|code| code != 0) {
                        self.blame(role, format!("did not end well ({status})"));
                    }
                    self.stop_next();
                }
            }
            State::Fetching(_) if well && self.phase == Phase::Idle => self.load(),
            State::Fetching(_) if well => self.tear_down(Before::Ended),
            State::Measuring(_) if well => self.drain(),
            _ => self.fail_by(role, format!("ended unasked ({status})")),
        }
    }

    /// The last fetches.
    fn drain(&mut self) {
        self.enter(Phase::Drain);
        self.await_last(self.now);
        if !self.running.contains(&Role::Fast) {
            self.tear_down(Before::Ended);
        }
    }

    /// Waits for the end of fetches that stop arriving at `last`.
    fn await_last(&mut self, last: Instant) {
        self.state = State::Fetching(last + self.trial.arm.fetch.cap.as_duration() + LINGER);
    }

    fn overdue(&mut self) {
        match self.state {
            State::Starting(role, _) => {
                let within = self.timeouts(role).ready.as_secs();
                self.fail_by(role, format!("was not ready within {within} s"));
            }
            State::Fetching(_) => {
                let what = "did not end after the cap of its last fetch".to_owned();
                self.fail_by(Role::Fast, what);
            }
            State::Steering(_) => {
                let order = self.steering.as_mut().and_then(Steering::give_up);
                self.actions.extend(order.map(Action::Order));
                self.steered();
            }
            // A download that never moves is for the verdict to tell, not for us to wait on.
            State::Moving(_) => {
                self.start(Start::Fast(Phase::Measure));
            }
            State::Measuring(_) => self.drain(),
            // Not even the kernel can end it now; it is not ours to wait for any longer.
            State::Stopping { killed: Some(_), .. } => self.stop_next(),
            State::Stopping { role, asked, killed: None } => {
                if self.all_by.is_none() {
                    let within = self.timeouts(role).end.as_secs();
                    self.blame(role, format!("did not end within {within} s and was killed"));
                }
                self.actions.push(Action::Kill(role));
                self.state = State::Stopping { role, asked, killed: Some(self.now) };
            }
            State::Over => {}
        }
    }

    fn start(&mut self, start: Start) {
        let role = start.role();
        self.state = State::Starting(role, self.now + self.timeouts(role).ready);
        self.actions.push(Action::Start(start));
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.actions.push(Action::Begin(phase, Before::Ended));
    }

    fn blame(&mut self, role: Role, what: String) {
        if self.blamed.insert(role) {
            self.actions.push(Action::Blame(role, what));
        }
    }

    /// Ends a trial that `role` has spoilt.
    fn fail_by(&mut self, role: Role, what: String) {
        self.blame(role, what);
        self.cut_short();
    }

    fn cut_short(&mut self) {
        if !self.is_teardown() {
            self.tear_down(Before::CutShort);
        }
    }

    /// Stops everything, whatever the phases came to.
    fn tear_down(&mut self, before: Before) {
        self.phase = Phase::Teardown;
        self.actions.push(Action::Begin(Phase::Teardown, before));
        self.stop_next();
    }

    /// Asks the next of those that still run to end.
    fn stop_next(&mut self) {
        let stopped = match self.state {
            State::Stopping { role, .. } => STOPPED.iter().position(|other| *other == role),
            _ => None,
        };
        let left = STOPPED.iter().skip(stopped.map_or(0, |at| at + 1));
        self.state = match left.copied().find(|role| self.running.contains(role)) {
            Some(role) => {
                self.actions.push(Action::Dismiss(role));
                State::Stopping { role, asked: self.now, killed: None }
            }
            None => State::Over,
        };
    }

    fn timeouts(&self, role: Role) -> roles::Timeouts {
        roles::timeouts(role, &self.trial.arm.server)
    }
}

/// Whether downloads wait with their requests until they are placed, where they `may`.
///
/// With a shared listener they must not: an idle worker would accept them all, while one that
/// relays leaves the next connection to others.
fn requests(place: Placement, mode: ListenerMode, may: Requests) -> Requests {
    match (place, mode) {
        (Placement::Hash, _) | (_, ListenerMode::Shared) => Requests::AtOnce,
        (Placement::Spread | Placement::OneWorker, ListenerMode::Reuseport) => may,
    }
}
