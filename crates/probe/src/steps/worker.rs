//! One worker: its turns, its step under way, its stretches and totals.

use std::collections::{BTreeMap, VecDeque};

use records::{
    Bytes, Hold, LoopTurn, Micros, MonoNs, Record, StepEnd, Stretch, StretchSink, Stretches,
    WorkerTotals,
};

use super::Take;
use super::calls::Moves;
use super::session::{Session, Side};
use crate::tracer::Target;
use crate::wire::{Came, Direction};

/// See the module's head. Times of events are the kernel's: CLOCK_MONOTONIC, ns.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) target: Target,
    hold: Micros,
    totals: WorkerTotals,
    told: Option<WorkerTotals>,
    /// `None`: it was not seen yet.
    stretches: Option<Stretches>,
    /// Time in polls, ns.
    polled: u64,
    turn: Option<LoopTurn>,
    pub(super) step: Option<Step>,
    /// Where the next step begins.
    mark: u64,
    next_session: u64,
    /// The call it polls with.
    pub(super) poll: Option<u32>,
    /// Sessions that asked and have neither an upstream nor an answer, in their order.
    pub(super) askers: VecDeque<u64>,
    /// Calls that move bytes.
    pub(super) calls: BTreeMap<u32, Moves>,
}

/// The step under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Step {
    pub(super) session: u64,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) up: u64,
    pub(super) down: u64,
    pub(super) reads: u64,
    pub(super) writes: u64,
    /// What was read of the client: an upload.
    pub(super) taken: u64,
    pub(super) takes: u64,
    pub(super) last: Option<(Side, Direction, Came)>,
}

/// How a step came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Last {
    Call,
    Close,
    /// Not at all: nobody watches any more.
    None,
}

/// Where stretches go, and the CPU time that the thread has used by their end, ns.
struct Out<'a>(u64, Take<'a>);

impl StretchSink for Out<'_> {
    fn cpu(&mut self) -> Micros {
        micros(self.0)
    }

    fn tell(&mut self, stretch: Stretch) {
        // Clocks of different CPUs, and of the scheduler, differ by some microseconds.
        let length = stretch.length_us();
        let (poll_us, cpu_us) = (stretch.poll_us.min(length), stretch.cpu_us.min(length));
        self.1(Record::Stretch(Stretch { poll_us, cpu_us, ..stretch }));
    }
}

impl Worker {
    pub(super) fn new(target: Target, hold: Micros) -> Self {
        Self {
            target,
            hold,
            totals: WorkerTotals::of(target.worker),
            told: None,
            stretches: None,
            polled: 0,
            turn: None,
            step: None,
            mark: 0,
            next_session: 0,
            poll: None,
            askers: VecDeque::new(),
            calls: BTreeMap::new(),
        }
    }

    pub(super) fn index(&self) -> u32 {
        self.target.worker
    }

    pub(super) fn next_session(&mut self) -> u64 {
        let number = self.next_session;
        self.next_session += 1;
        number
    }

    pub(super) fn was_seen(&self) -> bool {
        self.stretches.is_some()
    }

    fn stretches_from(&self, start: MonoNs, cpu: u64) -> Stretches {
        Stretches::begin(self.index(), start, micros(cpu))
    }

    /// It is seen out of its poll for the first time.
    pub(super) fn begun(&mut self, at: u64, cpu: u64) {
        self.stretches = Some(self.stretches_from(MonoNs(at), cpu));
        self.turn_from(at, 0);
    }

    fn turn_from(&mut self, at: u64, events: u32) {
        let (worker, turn) = (self.index(), self.totals.turns + 1);
        let (start_ns, end_ns) = (MonoNs(at), MonoNs(at));
        let turn = LoopTurn { worker, turn, start_ns, end_ns, events, steps: 0, accepts: 0 };
        self.turn = Some(turn);
        self.mark = at;
    }

    /// Its poll, called at `called`, returned: or the first that was seen, in which it had been since
    /// before `live`. Its step was ended before.
    pub(super) fn polled(
        &mut self,
        (called, live): (u64, MonoNs),
        (at, cpu): (u64, u64),
        events: u32,
        take: Take<'_>,
    ) {
        let (called, mut stretches) = match self.stretches.take() {
            Some(stretches) => (called, stretches),
            None => (live.0, self.stretches_from(live, cpu)),
        };
        self.end_turn(&mut stretches, called, take);
        self.polled += at.saturating_sub(called);
        stretches.polled(MonoNs(called), MonoNs(at), &mut Out(cpu, take));
        self.stretches = Some(stretches);
        self.turn_from(at, events);
    }

    fn end_turn(&mut self, stretches: &mut Stretches, at: u64, take: Take<'_>) {
        let Some(mut turn) = self.turn.take() else { return };
        turn.end_ns = turn.start_ns.max(MonoNs(at));
        if self.totals.count_turn(&turn) >= self.hold {
            take(Record::LoopTurn(turn));
        }
        stretches.turn_counted();
    }

    /// A connection was accepted.
    pub(super) fn accepted(&mut self, at: u64) {
        self.totals.sessions += 1;
        if let (Some(turn), Some(stretches)) = (&mut self.turn, &mut self.stretches) {
            turn.accepts += 1;
            stretches.accepted();
        }
        self.mark = at;
    }

    /// It was woken for a connection that another worker took.
    pub(super) fn found_none(&mut self, at: u64) {
        if self.turn.is_some_and(|turn| turn.events == 1 && turn.accepts == 0) {
            self.totals.empty_wakeups += 1;
        }
        self.mark = at;
    }

    /// The step of a session: the one under way, or a new one.
    pub(super) fn step_of(&mut self, session: u64) -> &mut Step {
        let start = self.mark;
        self.step.get_or_insert(Step { session, start, end: start, ..Step::default() })
    }

    /// Ends the step under way, of `session`; what it has used is known at `at`.
    pub(super) fn end_step(
        &mut self,
        session: &mut Session,
        ended: Last,
        (at, cpu): (u64, u64),
        take: Take<'_>,
    ) {
        let Some(step) = self.step.take() else { return };
        let length = MonoNs(step.end).micros_since(MonoNs(step.start));
        session.count(&step);
        self.mark = step.end;
        self.totals.count_step(length, Bytes(step.up), step.reads);
        if length >= self.hold {
            take(Record::Hold(self.hold_of(&step, session, ended)));
        }
        let (Some(turn), Some(stretches)) = (&mut self.turn, &mut self.stretches) else { return };
        turn.steps += 1;
        // Since its end it was on its CPU.
        let mut out = Out(cpu.saturating_sub(at.saturating_sub(step.end)), take);
        match ended {
            // Its stretch ends with the last turn.
            Last::None => stretches.step_counted(),
            _ if length >= self.hold => stretches.held(MonoNs(step.end), &mut out),
            _ => stretches.stepped(MonoNs(step.end), &mut out),
        }
    }

    /// A step that read nothing from an upstream served a file or took an upload: what it wrote, or read of
    /// its client, is what it moved.
    fn hold_of(&self, step: &Step, session: &Session, ended: Last) -> Hold {
        let (bytes, reads) = match step.up {
            0 => (step.down, step.writes).max((step.taken, step.takes)),
            up => (up, step.reads),
        };
        Hold {
            worker: self.index(),
            turn: self.totals.turns + 1,
            session: session.number(),
            client_port: session.record.client_port,
            start_ns: MonoNs(step.start),
            end_ns: MonoNs(step.end),
            bytes: Bytes(bytes),
            reads,
            ended_by: match (ended, step.last) {
                (Last::Close, _) => StepEnd::Closed,
                (Last::Call, Some((side, direction, Came::Again))) => match (side, direction) {
                    (Side::Upstream, Direction::In) => StepEnd::UpstreamEmpty,
                    (Side::Client, Direction::Out) => StepEnd::DownstreamFull,
                    (Side::Client, Direction::In) => StepEnd::DownstreamEmpty,
                    (Side::Upstream, Direction::Out) => StepEnd::UpstreamFull,
                },
                _ => StepEnd::Unknown,
            },
        }
    }

    /// Nobody watches any more. `asleep`: since when it is in its poll. Its step was ended before.
    pub(super) fn finish(&mut self, asleep: Option<u64>, end: u64, cpu: u64, take: Take<'_>) {
        let Some(mut stretches) = self.stretches.take() else { return };
        let called = asleep.unwrap_or(end);
        self.end_turn(&mut stretches, called, take);
        self.polled += end.saturating_sub(called);
        let mut out = Out(cpu, take);
        stretches.polled(MonoNs(called), MonoNs(end), &mut out);
        stretches.finish(MonoNs(end), &mut out);
        self.stretches = Some(stretches);
    }

    /// It was in its poll all along.
    pub(super) fn slept_through(&self, live: MonoNs, end: MonoNs, take: Take<'_>) {
        let (mut stretches, mut out) = (self.stretches_from(live, 0), Out(0, take));
        stretches.polled(live, end, &mut out);
        stretches.finish(end, &mut out);
    }

    /// Time in polls, and turns.
    pub(super) fn in_polls(&self) -> (Micros, u64) {
        (micros(self.polled), self.totals.turns)
    }

    /// Tells the totals if they have changed.
    pub(super) fn tell_totals(&mut self, at: MonoNs, lost: u64, take: Take<'_>) {
        self.totals.records_lost = lost;
        self.totals.at_ns = at;
        let told = self.told.take();
        if told.is_none_or(|told| WorkerTotals { at_ns: at, ..told } != self.totals) {
            take(Record::WorkerTotals(self.totals.clone()));
        }
        self.told = Some(self.totals.clone());
    }
}

pub(super) fn micros(ns: u64) -> Micros {
    Micros(ns / 1_000)
}

#[cfg(test)]
mod tests;
