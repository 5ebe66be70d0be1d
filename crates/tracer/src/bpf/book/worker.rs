//! One worker: its stretches, as differences of sums, and its totals.
//!
//! Invariant: stretches are told in their order. Lines of different CPUs overtake each other, so one
//! that does not begin where the last one ended waits for the one between them, a second at least.

use std::collections::BTreeMap;

use records::{Bytes, Micros, MonoNs, Record, StepHistogram, Stretch, WorkerTotals};

use super::{Step, Take, narrow};

/// See the module's head.
#[derive(Debug)]
pub(super) struct Worker {
    totals: WorkerTotals,
    told: Option<WorkerTotals>,
    /// Stretches that are not told yet, by their start.
    parts: BTreeMap<MonoNs, Part>,
    /// Those of them that have waited since the last second.
    waiting: Vec<MonoNs>,
    /// The sums at the end of the last stretch, and that end.
    before: Sums,
    until: Option<MonoNs>,
    next_session: u64,
    /// The call it polls with.
    pub(super) poll: Option<u64>,
    /// Long steps of which the first half was told, by their start as the script has it.
    pub(super) steps: BTreeMap<u64, Step>,
}

/// What is known of a stretch that is not told yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Part {
    /// `None`: not all is known yet.
    pub(super) end: Option<MonoNs>,
    /// It ends with a poll that is a stretch of its own, called then.
    pub(super) last_poll: Option<MonoNs>,
    /// At its end.
    pub(super) sums: Sums,
}

/// Sums since the worker was first seen; times in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) cpu: u64,
    pub(super) poll: u64,
    pub(super) turns: u64,
    pub(super) steps: u64,
    pub(super) accepts: u64,
    /// Wakeups for a connection that another worker took.
    pub(super) empty: u64,
    pub(super) bytes: u64,
    pub(super) reads: u64,
    /// Longest step, its bytes, and longest turn.
    pub(super) step: u64,
    pub(super) step_bytes: u64,
    pub(super) turn: u64,
}

/// What of the stretches that are known may be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Those that follow what was told without a gap.
    Kept,
    /// All up to the last that has waited for a second.
    Waited,
    /// All.
    Any,
}

impl Worker {
    pub(super) fn new(index: u32) -> Self {
        Self {
            totals: WorkerTotals { worker: index, ..WorkerTotals::default() },
            told: None,
            parts: BTreeMap::new(),
            waiting: Vec::new(),
            before: Sums::default(),
            until: None,
            next_session: 0,
            poll: None,
            steps: BTreeMap::new(),
        }
    }

    /// Its number.
    pub(super) fn index(&self) -> u32 {
        self.totals.worker
    }

    /// The number of its next session.
    pub(super) fn next_session(&mut self) -> u64 {
        let number = self.next_session;
        self.next_session += 1;
        number
    }

    /// It is seen for the first time, in a poll called (or, when `live` says since when it has been
    /// waited for, returned) at `called`.
    pub(super) fn first(
        &mut self,
        called: MonoNs,
        cpu: u64,
        poll: u64,
        live: Option<MonoNs>,
        take: Take<'_>,
    ) {
        self.poll = Some(poll);
        self.begin(called, cpu);
        // Had it been outside of the poll, its next event would not have been a return from it.
        if let Some(live) = live.filter(|live| *live < called) {
            take(Record::Stretch(self.slept(live, called)));
        }
    }

    /// Its life is told from `at` on, when it had used so much CPU.
    pub(super) fn begin(&mut self, at: MonoNs, cpu: u64) {
        self.before.cpu = cpu;
        self.until = Some(at);
    }

    /// A poll that takes all of a stretch.
    pub(super) fn slept(&self, start: MonoNs, end: MonoNs) -> Stretch {
        Stretch {
            worker: self.index(),
            start_ns: start,
            end_ns: end,
            poll_us: end.micros_since(start),
            cpu_us: Micros(0),
            turns: 0,
            steps: 0,
            accepts: 0,
        }
    }

    /// The stretch that starts at `start`.
    pub(super) fn part(&mut self, start: MonoNs) -> &mut Part {
        self.parts.entry(start).or_default()
    }

    /// Tells the stretches that are complete and in order.
    pub(super) fn tell_parts(&mut self, order: Order, take: Take<'_>) {
        let waited = self.waiting.last().copied();
        while let Some((&start, &part)) = self.parts.first_key_value() {
            let in_order = match order {
                Order::Kept => self.until.is_none_or(|until| start <= until),
                Order::Waited => waited.is_some_and(|waited| start <= waited),
                Order::Any => true,
            };
            match part.end {
                Some(end) if in_order => self.tell_stretch(start, end, part, take),
                // Its other half was lost, or does not come.
                None if in_order && order != Order::Kept => {}
                _ => return,
            }
            self.parts.pop_first();
        }
    }

    /// What has waited for a second waits no longer: something before it was lost.
    pub(super) fn a_second_has_passed(&mut self, take: Take<'_>) {
        self.tell_parts(Order::Waited, take);
        self.tell_parts(Order::Kept, take);
        self.waiting = self.parts.keys().copied().collect();
    }

    fn tell_stretch(&mut self, start: MonoNs, end: MonoNs, part: Part, take: Take<'_>) {
        let before = std::mem::replace(&mut self.before, part.sums);
        self.until = Some(end);
        self.take_over(part.sums);
        let more = |of: fn(Sums) -> u64| of(part.sums).saturating_sub(of(before));
        let cpu = more(|sums| sums.cpu).min(end.0.saturating_sub(start.0));
        let poll = more(|sums| sums.poll);
        let mut stretch = Stretch {
            worker: self.index(),
            start_ns: start,
            end_ns: end,
            poll_us: Micros(0),
            cpu_us: Micros(cpu / 1_000),
            turns: narrow(more(|sums| sums.turns)),
            steps: narrow(more(|sums| sums.steps)),
            accepts: narrow(more(|sums| sums.accepts)),
        };
        let Some(called) = part.last_poll else {
            stretch.poll_us = Micros(poll / 1_000).min(stretch.length_us());
            take(Record::Stretch(stretch));
            return;
        };
        // CPU time at the call is not known: what was before gets as much of it as it was long.
        let cpu_before = cpu.min(called.0.saturating_sub(start.0));
        let slept = end.0.saturating_sub(called.0);
        stretch.end_ns = called;
        stretch.poll_us = Micros(poll.saturating_sub(slept) / 1_000).min(stretch.length_us());
        stretch.cpu_us = Micros(cpu_before / 1_000);
        if called > start || (stretch.turns, stretch.steps, stretch.accepts) != (0, 0, 0) {
            take(Record::Stretch(stretch));
        }
        let cpu_us = Micros((cpu - cpu_before) / 1_000);
        take(Record::Stretch(Stretch { cpu_us, ..self.slept(called, end) }));
    }

    fn take_over(&mut self, sums: Sums) {
        let totals = &mut self.totals;
        totals.sessions = sums.accepts;
        totals.turns = sums.turns;
        totals.steps = sums.steps;
        totals.reads = sums.reads;
        totals.bytes = Bytes(sums.bytes);
        totals.longest_step_us = Micros(sums.step / 1_000);
        totals.longest_step_bytes = Bytes(sums.step_bytes);
        totals.longest_turn_us = Micros(sums.turn / 1_000);
        totals.empty_wakeups = sums.empty;
    }

    /// Totals are as of `at`.
    pub(super) fn at(&mut self, at: MonoNs) {
        self.totals.at_ns = at;
    }

    /// All its steps by length.
    pub(super) fn lengths(&mut self, lengths: StepHistogram) {
        self.totals.step_lengths = lengths;
    }

    /// Counts the length of a step that was under way at the end.
    pub(super) fn count_length(&mut self, length: Micros) {
        let lengths = &mut self.totals.step_lengths.0;
        lengths.resize(StepHistogram::BUCKETS, 0);
        if let Some(count) = lengths.get_mut(StepHistogram::bucket(length)) {
            *count += 1;
        }
    }

    /// Time in polls so far, in us.
    pub(super) fn polled(&self) -> Micros {
        Micros(self.before.poll / 1_000)
    }

    /// Turns so far.
    pub(super) fn turns(&self) -> u64 {
        self.totals.turns
    }

    /// Tells the totals if they have changed.
    pub(super) fn tell_totals(&mut self, lost: u64, take: Take<'_>) {
        self.totals.records_lost = lost;
        let at_ns = self.totals.at_ns;
        if self.told.take().is_none_or(|told| WorkerTotals { at_ns, ..told } != self.totals) {
            take(Record::WorkerTotals(self.totals.clone()));
        }
        self.told = Some(self.totals.clone());
    }
}
