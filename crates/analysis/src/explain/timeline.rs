//! One worker's life as a row of segments, each with what the worker was doing and how much of that
//! time it had no CPU.
//!
//! Not for: whose time that was; [`super::split`] lays fetches upon it.
//!
//! Invariants: segments are in order and do not overlap; where there is none, a record was lost.

use std::time::Duration;

use records::{Hold, MonoNs, Stretch};

use super::cpu::{Off, Reckoner};
use crate::window::{Window, share};

/// Readings of the kernel are compared with a worker's own over at least so much time.
const EPOCH: Duration = Duration::from_millis(100);

/// See the module's head.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeline {
    pub(crate) segments: Vec<Segment>,
}

/// A part of a worker's life.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Segment {
    pub(crate) window: Window,
    pub(crate) doing: Doing,
    pub(crate) off: Off,
}

/// What a worker does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Doing {
    /// One long step: the position of its record.
    Hold(usize),
    /// Loop turns with short steps: which part of the time was in polls, and how long a turn took.
    Turning {
        /// Part in polls, 0 to 1.
        polling: f64,
        /// Mean length of a turn, polls left out.
        turn: Duration,
    },
    /// One long poll.
    Polling,
}

impl Timeline {
    /// The life of the worker with these stretches. `holds` are positions and records of its holds,
    /// both in any order.
    pub(crate) fn new(
        stretches: &[&Stretch],
        holds: &[(usize, &Hold)],
        mut reckoner: Reckoner,
    ) -> Self {
        let mut stretches: Vec<&Stretch> = stretches.to_vec();
        stretches.sort_by_key(|stretch| stretch.start_ns);
        let mut holds: Vec<(usize, &Hold)> = holds.to_vec();
        holds.sort_by_key(|(_, hold)| hold.start_ns);
        let mut timeline = Self::default();
        let mut rest = stretches.as_slice();
        while !rest.is_empty() {
            let (epoch, later) = rest.split_at(epoch(rest));
            let reasons = reckoner.reasons(epoch);
            for stretch in epoch {
                timeline.push(stretch, &holds, reasons.within(stretch));
            }
            rest = later;
        }
        timeline
    }

    /// Segments that have a part in `window`.
    pub(crate) fn within(&self, window: Window) -> &[Segment] {
        let from = self.segments.partition_point(|segment| segment.window.end <= window.start);
        let rest = self.segments.get(from..).unwrap_or_default();
        let count = rest.partition_point(|segment| segment.window.start < window.end);
        rest.get(..count).unwrap_or_default()
    }

    /// Where the known life ends, so that segments never overlap.
    fn end(&self) -> MonoNs {
        self.segments.last().map_or(MonoNs(0), |segment| segment.window.end)
    }

    /// The segments of one stretch: its holds, and what lies between them.
    fn push(&mut self, stretch: &Stretch, holds: &[(usize, &Hold)], off: Off) {
        let window = Window::new(stretch.start_ns.max(self.end()), stretch.end_ns);
        let from = holds.partition_point(|(_, hold)| hold.end_ns <= window.start);
        let inside = holds.iter().skip(from).take_while(|(_, hold)| hold.start_ns < window.end);
        let clipped = |hold: &Hold| Window::new(hold.start_ns, hold.end_ns).clip(window);
        let inside: Vec<(usize, Window)> = inside.map(|&(at, hold)| (at, clipped(hold))).collect();
        let held: Duration = inside.iter().map(|(_, hold)| hold.length()).sum();
        let between = window.length().saturating_sub(held);
        let poll = stretch.poll_us.as_duration().min(between);
        // What a worker does after its last turn, to end its sessions, is neither a turn nor a poll.
        let slept = held.is_zero() && poll > between / 2;
        let doing = if slept && stretch.turns == 0 && stretch.steps == 0 {
            Doing::Polling
        } else {
            Doing::Turning {
                polling: share(poll, between),
                turn: between.saturating_sub(poll) / stretch.turns.max(1),
            }
        };
        for (at, hold) in inside {
            self.add(Window::new(self.end().max(window.start), hold.start), doing, off);
            self.add(hold, Doing::Hold(at), off);
        }
        self.add(Window::new(self.end().max(window.start), window.end), doing, off);
    }

    fn add(&mut self, window: Window, doing: Doing, off: Off) {
        if window.start >= self.end() && !window.length().is_zero() {
            self.segments.push(Segment { window, doing, off });
        }
    }
}

/// How many of these stretches, in order, make the next epoch. It ends where one was lost.
fn epoch(stretches: &[&Stretch]) -> usize {
    let start = stretches.first().map_or(MonoNs(0), |first| first.start_ns);
    let ends = |(stretch, next): (&&Stretch, &&Stretch)| {
        stretch.end_ns.since(start) >= EPOCH || next.start_ns > stretch.end_ns
    };
    let mut pairs = stretches.iter().zip(stretches.iter().skip(1));
    pairs.position(ends).map_or(stretches.len(), |at| at + 1)
}

#[cfg(test)]
mod tests;
