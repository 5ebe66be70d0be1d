//! The show as a state machine: keys, records and time go in, orders come out.
//!
//! Invariants:
//! - An act about a trial ends when the trial says so, an act with a length when that is over; while
//!   the show is held, none ends.
//! - A hold holds the picture. The trial behind it goes on, and its records are kept.

use std::time::Duration;

use records::{Manifest, MonoNs, Phase, Record, Summary};

use crate::act::{Act, Side, Timing};
use crate::arm::{ArmPlan, ArmView, Stage};

/// What somebody pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Hold the show, or let it go on.
    Hold,
    /// On to the next act.
    Next,
    /// Leave.
    Quit,
    /// Leave as by Ctrl-C.
    Interrupt,
    /// Nothing of ours.
    Other,
}

/// What who runs the show must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Start the trial of this side.
    Start(Side),
    /// Ask its trial to end the phase in progress and to go on with the next.
    EndPhase(Side),
    /// End whatever runs, and leave.
    Leave(Leave),
}

/// Why the show ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// It was shown to its end.
    Done,
    /// Somebody wanted to.
    Quit,
    /// Somebody pressed Ctrl-C.
    Interrupt,
}

/// The show.
#[derive(Clone, Debug)]
pub struct Show {
    timing: Timing,
    arms: Box<[ArmView; 2]>,
    began: MonoNs,
    act: Act,
    act_began: MonoNs,
    held: Option<Held>,
    haste: Haste,
    orders: Vec<Order>,
}

/// The picture that is held.
#[derive(Clone, Debug)]
struct Held {
    since: MonoNs,
    arms: Box<[ArmView; 2]>,
}

/// Whether somebody wants the phase in progress to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Haste {
    None,
    /// As soon as the trial can prove something.
    Asked,
    /// The trial knows.
    Told,
}

/// A run proves nothing with fewer than 20 fetches, idle or under load. One that is counted here may
/// count for another phase there.
const ENOUGH: u64 = 22;

impl Show {
    /// A show that begins at `now`.
    pub fn new(left: ArmPlan, right: ArmPlan, timing: Timing, now: MonoNs) -> Self {
        Self {
            timing,
            arms: Box::new([ArmView::new(left), ArmView::new(right)]),
            began: now,
            act: Act::Opening,
            act_began: now,
            held: None,
            haste: Haste::None,
            orders: Vec::new(),
        }
    }

    /// A key was pressed.
    pub fn key(&mut self, key: Key, now: MonoNs) {
        match key {
            Key::Hold if self.held.is_some() => self.release(now),
            Key::Hold => self.held = Some(Held { since: now, arms: self.arms.clone() }),
            Key::Next => {
                self.release(now);
                match self.act.trial() {
                    None => self.advance(now),
                    Some(_) if self.haste == Haste::None => self.haste = Haste::Asked,
                    Some(_) => {}
                }
            }
            Key::Quit => self.orders.push(Order::Leave(Leave::Quit)),
            Key::Interrupt => self.orders.push(Order::Leave(Leave::Interrupt)),
            Key::Other => {}
        }
    }

    /// The manifest of a trial as it is now.
    pub fn manifest(&mut self, side: Side, manifest: &Manifest) {
        self.arm_mut(side).manifest(manifest);
    }

    /// A record of a trial.
    pub fn take(&mut self, side: Side, record: &Record) {
        self.arm_mut(side).take(record);
    }

    /// A trial has ended, or could not be started.
    pub fn over(&mut self, side: Side, ended: Result<Box<Summary>, String>) {
        self.arm_mut(side).stage = Stage::Over(ended);
    }

    /// Time has come to `now`: what is to be done.
    pub fn tick(&mut self, now: MonoNs) -> Vec<Order> {
        while self.held.is_none() && self.is_over(now) {
            let act = self.act;
            self.advance(now);
            if self.act == act {
                break;
            }
        }
        self.hasten();
        std::mem::take(&mut self.orders)
    }

    /// The act in progress.
    pub const fn act(&self) -> Act {
        self.act
    }

    /// Since the curtain went up.
    pub fn elapsed(&self, now: MonoNs) -> Duration {
        now.since(self.began)
    }

    /// About how long all of it takes, when nobody holds it.
    pub fn total(&self) -> Duration {
        self.timing.total()
    }

    /// Whether it is held.
    pub const fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Whether somebody wants the phase in progress to end, and it cannot yet.
    pub fn is_hastened(&self) -> bool {
        self.haste != Haste::None
    }

    /// An arm as it is, whatever the screen shows.
    pub fn arm(&self, side: Side) -> &ArmView {
        side.of(&self.arms)
    }

    /// What the screen shows at `now`: the arms, left and right, and the time they stand at.
    pub(crate) fn picture(&self, now: MonoNs) -> (&[ArmView; 2], MonoNs) {
        match &self.held {
            Some(held) => (&*held.arms, held.since),
            None => (&*self.arms, now),
        }
    }

    /// When the phase in progress should end, by the plan.
    pub(crate) fn phase_length(&self, phase: Phase) -> Option<Duration> {
        match phase {
            Phase::Idle => Some(self.timing.idle),
            Phase::Measure => Some(self.timing.measure),
            Phase::Setup | Phase::Load | Phase::Drain | Phase::Teardown => None,
        }
    }

    fn arm_mut(&mut self, side: Side) -> &mut ArmView {
        side.of_mut(&mut self.arms)
    }

    fn release(&mut self, now: MonoNs) {
        if let Some(held) = self.held.take() {
            // The act has as much time left as it had.
            self.act_began = self.act_began + now.since(held.since);
        }
    }

    fn is_over(&self, now: MonoNs) -> bool {
        let Some(side) = self.act.trial() else {
            return now.since(self.act_began) >= self.timing.of(self.act);
        };
        match &self.arm(side).stage {
            Stage::Waiting => false,
            Stage::Running(phase) => self.act == Act::Idle(side) && *phase >= Phase::Load,
            Stage::Over(_) => true,
        }
    }

    fn advance(&mut self, now: MonoNs) {
        let Some(next) = self.act.next() else {
            self.orders.push(Order::Leave(Leave::Done));
            return;
        };
        (self.act, self.act_began, self.haste) = (next, now, Haste::None);
        if let Act::Idle(side) = next {
            self.arm_mut(side).stage = Stage::Running(Phase::Setup);
            self.orders.push(Order::Start(side));
        }
    }

    /// Ends the phase in progress, if that is wanted and the trial can do without the rest.
    fn hasten(&mut self) {
        let Some(side) = self.act.trial().filter(|_| self.haste == Haste::Asked) else { return };
        let (phase, counts) = match self.act {
            Act::Idle(_) => (Phase::Idle, self.arm(side).idle()),
            _ => (Phase::Measure, self.arm(side).load()),
        };
        if self.arm(side).stage == Stage::Running(phase) && counts.attempts() >= ENOUGH {
            self.haste = Haste::Told;
            self.orders.push(Order::EndPhase(side));
        }
    }
}

#[cfg(test)]
mod tests;
