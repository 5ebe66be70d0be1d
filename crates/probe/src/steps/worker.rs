//! One worker: its turns, its step under way, its stretches and totals.

use std::collections::VecDeque;

use records::{
    Bytes, Hold, LoopTurn, Micros, MonoNs, Record, StepEnd, Stretch, StretchSink, Stretches,
    WorkerTotals,
};

use super::calls::Calls;
use super::connections::{Session, Side};
use crate::target::{Take, Target};
use crate::wire::{Came, Direction, Slot, micros};

/// See the module's head. Times of events are the kernel's: CLOCK_MONOTONIC, ns.
#[derive(Debug, Default)]
pub(super) struct Worker {
    pub(super) target: Target,
    hold: Micros,
    totals: WorkerTotals,
    /// `None`: it was not seen yet.
    stretches: Option<Stretches>,
    /// Time in polls, ns.
    polled: u64,
    turn: Option<LoopTurn>,
    pub(super) step: Option<Step>,
    /// Where the next step begins.
    mark: u64,
    /// The number of its next session.
    pub(super) next_session: u64,
    /// The call it polls with.
    pub(super) poll: Option<u32>,
    /// Sessions that asked and have neither an upstream nor an answer, in their order.
    pub(super) askers: VecDeque<u64>,
    /// Calls that move bytes.
    pub(super) calls: Calls,
}

/// The step under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Step {
    pub(super) session: u64,
    start: u64,
    pub(super) end: u64,
    /// Read from the upstream, written to the client, and read from it: an upload.
    up: Sum,
    down: Sum,
    taken: Sum,
    pub(super) last: Option<(Side, Direction, Came)>,
}

/// Bytes, and calls that moved them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Sum {
    bytes: u64,
    calls: u64,
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

impl Step {
    /// Calls for its session.
    pub(super) fn moved(&mut self, side: Side, slot: &Slot) {
        if slot.last >= self.end {
            self.end = slot.last;
            self.last = Some((side, slot.direction(), slot.ended()));
        }
        let sum = match (side, slot.direction()) {
            (Side::Upstream, Direction::In) => &mut self.up,
            (Side::Client, Direction::Out) => &mut self.down,
            (Side::Client, Direction::In) => &mut self.taken,
            (Side::Upstream, Direction::Out) => return,
        };
        sum.bytes += slot.bytes;
        sum.calls += u64::from(slot.data);
    }
}

impl Worker {
    pub(super) fn new(target: Target, hold: Micros) -> Self {
        let totals = WorkerTotals::of(target.worker);
        Self { target, hold, totals, ..Self::default() }
    }

    pub(super) fn index(&self) -> u32 {
        self.target.worker
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
        self.end_turn(&mut stretches, (called, at), &mut Out(cpu, take));
        self.stretches = Some(stretches);
        self.turn_from(at, events);
    }

    /// The turn under way has ended with a poll.
    fn end_turn(&mut self, stretches: &mut Stretches, (called, at): (u64, u64), out: &mut Out<'_>) {
        if let Some(mut turn) = self.turn.take() {
            turn.end_ns = turn.start_ns.max(MonoNs(called));
            if self.totals.count_turn(&turn) >= self.hold {
                out.1(Record::LoopTurn(turn));
            }
            stretches.turned();
        }
        self.polled += at.saturating_sub(called);
        stretches.polled(MonoNs(called), MonoNs(at), out);
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
        let both_ways = step.up.bytes > 0 && step.down.bytes > 0;
        session.stepped(step.end.saturating_sub(step.start), both_ways);
        self.mark = step.end;
        self.totals.count_step(length, Bytes(step.up.bytes), step.up.calls);
        if length >= self.hold {
            take(Record::Hold(self.hold_of(&step, session, ended)));
        }
        let (Some(turn), Some(stretches)) = (&mut self.turn, &mut self.stretches) else { return };
        turn.steps += 1;
        // Since its end it was on its CPU.
        let mut out = Out(cpu.saturating_sub(at.saturating_sub(step.end)), take);
        stretches.stepped();
        match ended {
            // Its stretch ends with the last turn.
            Last::None => {}
            _ if length >= self.hold => stretches.end(MonoNs(step.end), &mut out),
            _ => stretches.end_if_long(MonoNs(step.end), &mut out),
        }
    }

    /// A step that read nothing from an upstream served a file or took an upload: what it wrote, or read of
    /// its client, is what it moved.
    fn hold_of(&self, step: &Step, session: &Session, ended: Last) -> Hold {
        let moved = if step.up.bytes > 0 { step.up } else { step.down.max(step.taken) };
        Hold {
            worker: self.index(),
            turn: self.totals.turns + 1,
            session: session.number(),
            client_port: session.record.client_port,
            start_ns: MonoNs(step.start),
            end_ns: MonoNs(step.end),
            bytes: Bytes(moved.bytes),
            reads: moved.calls,
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
        let mut out = Out(cpu, take);
        self.end_turn(&mut stretches, (asleep.unwrap_or(end), end), &mut out);
        stretches.finish(MonoNs(end), &mut out);
        self.stretches = Some(stretches);
    }

    /// It was in its poll all along.
    pub(super) fn slept_through(&mut self, live: MonoNs, end: MonoNs, take: Take<'_>) {
        self.stretches = Some(self.stretches_from(live, 0));
        self.finish(Some(live.0), end.0, 0, take);
    }

    /// The call it polls with, how often it did, and for how long in all.
    pub(super) fn polls(&self) -> Option<(u32, u64, Micros)> {
        Some((self.poll?, self.totals.turns, micros(self.polled)))
    }

    /// Tells the totals.
    pub(super) fn tell_totals(&mut self, at: MonoNs, lost: u64, take: Take<'_>) {
        (self.totals.records_lost, self.totals.at_ns) = (lost, at);
        take(Record::WorkerTotals(self.totals.clone()));
    }
}
