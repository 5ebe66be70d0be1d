//! A worker's life in pieces without a gap, as the mirror and the probe tell it: which of its times were
//! polls, and how much it did.
//!
//! Not for: reading clocks or telling. It is fed, in their order, with times that are known
//! anyway, and hands each stretch that has ended to a [`StretchSink`]; the thread's CPU clock, which costs
//! the mirror a system call, is asked only then. All else is a few additions and a comparison.
//!
//! Invariants:
//! - A stretch starts where the one before it ended; none ends before it starts.
//! - No stretch has more time in polls than it is long.
//! - Turns, steps and accepts each stand in exactly one stretch, and CPU time in exactly one.

use crate::{Micros, MonoNs, Stretch};

/// A stretch of this length is told with the next thing that ends; so is a poll of this length, by
/// itself. Both in nanoseconds: 5 ms, which is 200 stretches a second of a busy worker.
const LONG_NS: u64 = 5_000_000;

/// Where stretches go, and where the CPU time comes from that they are told with.
pub trait StretchSink {
    /// CPU time of the worker's thread so far.
    fn cpu(&mut self) -> Micros;
    /// A stretch has ended.
    fn tell(&mut self, stretch: Stretch);
}

/// The stretch under way.
#[derive(Clone, Debug)]
pub struct Stretches {
    worker: u32,
    start: MonoNs,
    poll_ns: u64,
    turns: u32,
    steps: u32,
    accepts: u32,
    /// The thread's CPU time as of `start`.
    cpu: Micros,
}

impl Stretches {
    /// The first stretch begins `now`, at which the thread has used `cpu`.
    pub const fn begin(worker: u32, now: MonoNs, cpu: Micros) -> Self {
        Self { worker, start: now, poll_ns: 0, turns: 0, steps: 0, accepts: 0, cpu }
    }

    /// A connection was accepted.
    pub fn accepted(&mut self) {
        self.accepts += 1;
    }

    /// A step ended.
    pub fn stepped(&mut self, end: MonoNs, sink: &mut impl StretchSink) {
        self.step_counted();
        self.end_if_long(end, sink);
    }

    /// A step ended that was a hold: the stretch ends with it, however short.
    pub fn held(&mut self, end: MonoNs, sink: &mut impl StretchSink) {
        self.step_counted();
        self.end(end, sink);
    }

    /// A loop turn ended: it counts in the stretch under way, which goes on.
    pub fn turn_counted(&mut self) {
        self.turns += 1;
    }

    /// A step ended: it counts in the stretch under way, which goes on.
    pub fn step_counted(&mut self) {
        self.steps += 1;
    }

    /// A loop turn ended.
    pub fn turned(&mut self, end: MonoNs, sink: &mut impl StretchSink) {
        self.turn_counted();
        self.end_if_long(end, sink);
    }

    /// A poll returned. A long one is a stretch of its own, after what was before it.
    pub fn polled(&mut self, called: MonoNs, returned: MonoNs, sink: &mut impl StretchSink) {
        let length = returned.0.saturating_sub(called.0);
        if length < LONG_NS {
            self.poll_ns += length;
            self.end_if_long(returned, sink);
        } else {
            self.slept(called, returned, sink);
        }
    }

    /// The worker's life is over.
    pub fn finish(&mut self, now: MonoNs, sink: &mut impl StretchSink) {
        if !self.is_empty(now) {
            self.end(now, sink);
        }
    }

    fn is_empty(&self, now: MonoNs) -> bool {
        now <= self.start && (self.turns, self.steps, self.accepts) == (0, 0, 0)
    }

    fn end_if_long(&mut self, now: MonoNs, sink: &mut impl StretchSink) {
        if now.0.saturating_sub(self.start.0) >= LONG_NS {
            self.end(now, sink);
        }
    }

    /// CPU time is known at the poll's return only. What was before it gets as much of it as it was
    /// long, and the poll the rest: a poll uses next to none.
    #[cold]
    fn slept(&mut self, called: MonoNs, returned: MonoNs, sink: &mut impl StretchSink) {
        let cpu = sink.cpu();
        if !self.is_empty(called) {
            let most = Micros(self.cpu.0 + called.micros_since(self.start).0);
            sink.tell(self.next(called, cpu.min(most)));
        }
        self.poll_ns = returned.0.saturating_sub(called.0);
        sink.tell(self.next(returned, cpu));
    }

    #[cold]
    fn end(&mut self, now: MonoNs, sink: &mut impl StretchSink) {
        let cpu = sink.cpu();
        sink.tell(self.next(now, cpu));
    }

    /// Takes the stretch that ends `now` and begins the next.
    fn next(&mut self, now: MonoNs, cpu: Micros) -> Stretch {
        // What is reckoned back from a later time may be too little.
        let cpu = cpu.max(self.cpu);
        let ended = Stretch {
            worker: self.worker,
            start_ns: self.start,
            end_ns: now,
            poll_us: Micros(self.poll_ns / 1_000),
            cpu_us: Micros(cpu.0.saturating_sub(self.cpu.0)),
            turns: self.turns,
            steps: self.steps,
            accepts: self.accepts,
        };
        *self = Self::begin(self.worker, now, cpu);
        ended
    }
}

#[cfg(test)]
mod tests;
