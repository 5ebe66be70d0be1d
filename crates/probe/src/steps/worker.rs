//! One worker: its turns, its step under way, its stretches and totals.

use std::collections::{BTreeMap, VecDeque};

use records::{
    Bytes, Hold, LoopTurn, Micros, MonoNs, Record, StepEnd, StepHistogram, Stretch, WorkerTotals,
};

use super::session::{Session, Side};
use crate::tracer::Target;
use crate::wire::{Came, Direction};

/// Stretches and sleeps of this length are told: 5 ms, as of the mirror.
const LONG: Micros = Micros(5_000);

/// See the module's head. Times of events are the kernel's: CLOCK_MONOTONIC, ns.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) target: Target,
    hold: Micros,
    totals: WorkerTotals,
    told: Option<WorkerTotals>,
    /// Start of the stretch under way; `None`: it was not seen yet.
    start: Option<u64>,
    cpu: u64,
    polled: u64,
    /// As of the start of the stretch.
    before: Sums,
    turn: Option<Turn>,
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

/// What calls of one number moved.
#[derive(Debug, Default)]
pub(super) struct Moves {
    pub(super) calls: u64,
    pub(super) bytes: u64,
    /// How many moved so much ([`records::CallTotal::sizes`]).
    pub(super) sizes: BTreeMap<u64, u64>,
}

impl Moves {
    /// Bits of a size behind its first that are kept: 1 in 128 is under 1 %.
    const BITS: u32 = 7;

    /// Calls that followed each other on one descriptor: those that moved `bytes` together, and others.
    pub(super) fn add(&mut self, moved: u32, other: u32, bytes: u64) {
        self.calls += u64::from(moved) + u64::from(other);
        self.bytes += bytes;
        if let Some(mean) = bytes.checked_div(moved.into()) {
            let low = (u64::BITS - mean.leading_zeros()).saturating_sub(Self::BITS + 1);
            *self.sizes.entry(mean >> low << low).or_default() += u64::from(moved);
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    cpu: u64,
    polled: u64,
    turns: u64,
    steps: u64,
    accepts: u64,
}

/// The turn under way.
#[derive(Clone, Copy, Debug)]
struct Turn {
    start: u64,
    events: u32,
    steps: u64,
    accepts: u64,
}

/// The step under way.
#[derive(Clone, Copy, Debug)]
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

impl Worker {
    pub(super) fn new(target: Target, hold: Micros) -> Self {
        Self {
            target,
            hold,
            totals: WorkerTotals { worker: target.worker, ..WorkerTotals::default() },
            told: None,
            start: None,
            cpu: 0,
            polled: 0,
            before: Sums::default(),
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
        self.start.is_some()
    }

    /// It is seen out of its poll for the first time.
    pub(super) fn begun(&mut self, at: u64, cpu: u64) {
        (self.cpu, self.before.cpu) = (cpu, cpu);
        self.start = Some(at);
        self.turn_from(at, 0);
    }

    fn turn_from(&mut self, at: u64, events: u32) {
        let (steps, accepts) = (self.totals.steps, self.totals.sessions);
        self.turn = Some(Turn { start: at, events, steps, accepts });
        self.mark = at;
    }

    /// Its poll returned for the first time: it had been in it since before `live`.
    pub(super) fn first_poll(
        &mut self,
        live: MonoNs,
        at: u64,
        events: u32,
        cpu: u64,
        take: &mut dyn FnMut(Record),
    ) {
        if live.0 < at {
            take(Record::Stretch(self.slept(live.0, at, 0)));
        }
        self.begun(at, cpu);
        self.turn_from(at, events);
    }

    /// Its poll, called at `called`, returned. Its step was ended before.
    pub(super) fn polled(
        &mut self,
        called: u64,
        at: u64,
        events: u32,
        cpu: u64,
        take: &mut dyn FnMut(Record),
    ) {
        self.cpu = cpu;
        self.end_turn(called, take);
        self.polled += at.saturating_sub(called);
        self.stretch_with_poll(called, at, take);
        self.turn_from(at, events);
    }

    fn end_turn(&mut self, at: u64, take: &mut dyn FnMut(Record)) {
        let Some(turn) = self.turn.take() else { return };
        self.totals.turns += 1;
        let told = LoopTurn {
            worker: self.index(),
            turn: self.totals.turns,
            start_ns: MonoNs(turn.start),
            end_ns: MonoNs(at.max(turn.start)),
            events: turn.events,
            steps: narrow(self.totals.steps - turn.steps),
            accepts: narrow(self.totals.sessions - turn.accepts),
        };
        let length = told.end_ns.micros_since(told.start_ns);
        self.totals.longest_turn_us = self.totals.longest_turn_us.max(length);
        if length >= self.hold {
            take(Record::LoopTurn(told));
        }
    }

    /// Ends the stretch at `at`, if it is long, with a poll since `called` in its end: one that is
    /// long is a stretch of its own.
    fn stretch_with_poll(&mut self, called: u64, at: u64, take: &mut dyn FnMut(Record)) {
        let Some(start) = self.start.filter(|start| micros(at.saturating_sub(*start)) >= LONG)
        else {
            return;
        };
        let slept = at.saturating_sub(called);
        if micros(slept) < LONG {
            return self.stretch(at, self.cpu, take);
        }
        let cpu = self.cpu;
        // CPU time at the call is not known: what was before gets as much of it as it was long.
        let used = cpu.saturating_sub(self.before.cpu).min(called.saturating_sub(start));
        self.polled -= slept;
        self.stretch(called, self.before.cpu + used, take);
        self.polled += slept;
        take(Record::Stretch(self.slept(called, at, cpu.saturating_sub(self.before.cpu))));
        self.start = Some(at);
        (self.before.cpu, self.before.polled) = (cpu, self.polled);
    }

    /// A poll that takes all of a stretch.
    fn slept(&self, start: u64, end: u64, cpu: u64) -> Stretch {
        let (start_ns, end_ns) = (MonoNs(start), MonoNs(end));
        Stretch {
            worker: self.index(),
            start_ns,
            end_ns,
            poll_us: end_ns.micros_since(start_ns),
            cpu_us: micros(cpu).min(end_ns.micros_since(start_ns)),
            turns: 0,
            steps: 0,
            accepts: 0,
        }
    }

    /// Tells the stretch under way, which ends at `at` when the worker had used `cpu`.
    fn stretch(&mut self, at: u64, cpu: u64, take: &mut dyn FnMut(Record)) {
        let Some(start) = self.start.replace(at) else { return };
        let now = Sums {
            cpu,
            polled: self.polled,
            turns: self.totals.turns,
            steps: self.totals.steps,
            accepts: self.totals.sessions,
        };
        let before = std::mem::replace(&mut self.before, now);
        let length = MonoNs(at).micros_since(MonoNs(start));
        let stretch = Stretch {
            worker: self.index(),
            start_ns: MonoNs(start),
            end_ns: MonoNs(at.max(start)),
            poll_us: micros(now.polled.saturating_sub(before.polled)).min(length),
            cpu_us: micros(now.cpu.saturating_sub(before.cpu)).min(length),
            turns: narrow(now.turns - before.turns),
            steps: narrow(now.steps - before.steps),
            accepts: narrow(now.accepts - before.accepts),
        };
        if at > start || (stretch.turns, stretch.steps, stretch.accepts) != (0, 0, 0) {
            take(Record::Stretch(stretch));
        }
    }

    /// A connection was accepted.
    pub(super) fn accepted(&mut self, at: u64) {
        self.totals.sessions += 1;
        self.mark = at;
    }

    /// It was woken for a connection that another worker took.
    pub(super) fn found_none(&mut self, at: u64) {
        let alone = |turn: Turn| turn.events == 1 && turn.accepts == self.totals.sessions;
        if self.turn.is_some_and(alone) {
            self.totals.empty_wakeups += 1;
        }
        self.mark = at;
    }

    /// The step of a session: the one under way, or a new one.
    pub(super) fn step_of(&mut self, session: u64) -> &mut Step {
        let start = self.mark;
        self.step.get_or_insert(Step {
            session,
            start,
            end: start,
            up: 0,
            down: 0,
            reads: 0,
            writes: 0,
            taken: 0,
            takes: 0,
            last: None,
        })
    }

    /// Ends the step under way, of `session`; what it has used is known at `at`.
    pub(super) fn end_step(
        &mut self,
        session: &mut Session,
        ended: Last,
        (at, cpu): (u64, u64),
        take: &mut dyn FnMut(Record),
    ) {
        let Some(step) = self.step.take() else { return };
        let length = MonoNs(step.end).micros_since(MonoNs(step.start));
        session.count(&step);
        self.mark = step.end;
        self.totals.steps += 1;
        self.totals.reads += step.reads;
        self.totals.bytes.0 += step.up;
        if length >= self.totals.longest_step_us {
            self.totals.longest_step_us = length;
            self.totals.longest_step_bytes = Bytes(step.up);
        }
        let lengths = &mut self.totals.step_lengths.0;
        lengths.resize(StepHistogram::BUCKETS, 0);
        if let Some(count) = lengths.get_mut(StepHistogram::bucket(length)) {
            *count += 1;
        }
        if length >= self.hold {
            take(Record::Hold(self.hold_of(&step, session, ended)));
        }
        let start = self.start.unwrap_or(step.end);
        let long = micros(step.end.saturating_sub(start)) >= LONG;
        if ended != Last::None && (length >= self.hold || long) {
            // Since then it was on its CPU.
            let cpu = cpu.saturating_sub(at.saturating_sub(step.end)).max(self.before.cpu);
            self.stretch(step.end, cpu, take);
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
            client_port: session.port,
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
    pub(super) fn finish(
        &mut self,
        asleep: Option<u64>,
        end: u64,
        cpu: u64,
        take: &mut dyn FnMut(Record),
    ) {
        self.cpu = cpu;
        let called = asleep.unwrap_or(end);
        self.end_turn(called, take);
        self.polled += end.saturating_sub(called);
        let before = self.start;
        self.stretch_with_poll(called, end, take);
        if self.start == before {
            self.stretch(end, cpu, take);
        }
    }

    /// It was in its poll all along.
    pub(super) fn slept_through(&self, live: MonoNs, end: MonoNs, take: &mut dyn FnMut(Record)) {
        if live < end {
            take(Record::Stretch(self.slept(live.0, end.0, 0)));
        }
    }

    /// Time in polls, and turns.
    pub(super) fn in_polls(&self) -> (Micros, u64) {
        (micros(self.polled), self.totals.turns)
    }

    /// Tells the totals if they have changed.
    pub(super) fn tell_totals(&mut self, at: MonoNs, lost: u64, take: &mut dyn FnMut(Record)) {
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

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
