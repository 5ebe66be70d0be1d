//! One worker's life as a row of segments, each with what the worker was doing and how much of that
//! time it had no CPU.
//!
//! Not for: whose time that was; [`super::split`] lays fetches upon it.
//!
//! Invariants: segments are in order and do not overlap; where there is none, a record was lost.
//!
//! ## Time without a CPU
//! A worker tells how long it was in polls and how much CPU it used; the kernel tells how long it
//! was ready and had none ([`records::SchedSample`]), and how much the hypervisor withheld. From
//! the four, over at least [`EPOCH`] at a time since the kernel is only asked every 25 ms:
//!
//! - busy but not on a CPU, and ready: no CPU. Up to the CPU time that other workers of the proxy
//!   used on the same CPU meanwhile this is the proxy's own work and stays with it: two workers on
//!   one CPU take turns, and a step lasts as long as it lasts. The rest is [`Off::no_cpu`].
//! - busy but not on a CPU, not ready, and not stolen: it slept, [`Off::blocked`].
//! - ready while in a poll: woken, but without a CPU, [`Off::woken`].

use std::time::Duration;

use records::{Hold, MonoNs, Stretch};

use super::cumulative::Cumulative;
use crate::summarise::window::Window;

/// Readings of the kernel are compared with a worker's own over at least so much time.
const EPOCH: Duration = Duration::from_millis(100);
/// Below this part of the busy time, time off CPU that nothing accounts for is an error of
/// measurement, and stays with what the worker was doing.
const SLACK: f64 = 0.05;

/// See the module's head.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    pub(super) segments: Vec<Segment>,
}

/// A part of a worker's life.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Segment {
    pub(super) window: Window,
    pub(super) doing: Doing,
    pub(super) off: Off,
}

/// What a worker does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Doing {
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

/// Parts of the time that a worker had no CPU, each 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Off {
    /// Of its busy time: ready, without a CPU, because of others than the proxy's own workers.
    pub(super) no_cpu: f64,
    /// Of its busy time: asleep in a system call.
    pub(super) blocked: f64,
    /// Of its busy time: off CPU, and the kernel does not say why.
    pub(super) untold: f64,
    /// Of its time in polls: woken, without a CPU.
    pub(super) woken: f64,
}

/// What the kernel says of one worker's thread and CPU.
#[derive(Clone, Debug, Default)]
pub(super) struct Kernel {
    /// Time ready without a CPU, ns.
    pub(super) run_wait: Cumulative,
    /// Time its CPU was withheld by the hypervisor, ns.
    pub(super) stolen: Cumulative,
    /// CPU time of the other workers on the same CPU, ns, one counter each.
    pub(super) siblings: Vec<Cumulative>,
}

impl Timeline {
    /// The life of the worker with these stretches. `holds` are positions and records of its holds,
    /// both in any order.
    pub(super) fn new(stretches: &[&Stretch], holds: &[(usize, &Hold)], kernel: &Kernel) -> Self {
        let mut stretches: Vec<&Stretch> = stretches.to_vec();
        stretches.sort_by_key(|stretch| stretch.start_ns);
        let mut holds: Vec<(usize, &Hold)> = holds.to_vec();
        holds.sort_by_key(|(_, hold)| hold.start_ns);
        let mut timeline = Self::default();
        let mut rest = stretches.as_slice();
        while let Some(first) = rest.first() {
            let long = |stretch: &&Stretch| stretch.end_ns.since(first.start_ns) >= EPOCH;
            let length = rest.iter().position(|s| long(&s)).map_or(rest.len(), |at| at + 1);
            let (epoch, later) = rest.split_at(length);
            let off = Off::of(epoch, kernel);
            epoch.iter().for_each(|stretch| timeline.push(stretch, &holds, off));
            rest = later;
        }
        timeline
    }

    /// Segments that have a part in `window`.
    pub(super) fn within(&self, window: Window) -> &[Segment] {
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
        let inside: Vec<(usize, Window)> = holds
            .iter()
            .skip(from)
            .take_while(|(_, hold)| hold.start_ns < window.end)
            .map(|&(at, hold)| (at, Window::new(hold.start_ns, hold.end_ns).clip(window)))
            .collect();
        let held: Duration = inside.iter().map(|(_, hold)| hold.length()).sum();
        let between = window.length().saturating_sub(held);
        let poll = stretch.poll_us.as_duration().min(between);
        let doing = if stretch.turns == 0 && stretch.steps == 0 && held.is_zero() {
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

impl Off {
    fn of(epoch: &[&Stretch], kernel: &Kernel) -> Self {
        let (Some(first), Some(last)) = (epoch.first(), epoch.last()) else {
            return Self::default();
        };
        let (start, end) = (first.start_ns, last.end_ns);
        let sum = |part: fn(&Stretch) -> Duration| -> Duration {
            epoch.iter().map(|stretch| part(stretch)).sum()
        };
        let length = sum(|stretch| stretch.length_us().as_duration());
        let poll = sum(|stretch| stretch.poll_us.as_duration()).min(length);
        let busy = length.saturating_sub(poll);
        let off = busy.saturating_sub(sum(|stretch| stretch.cpu_us.as_duration()));
        if !kernel.run_wait.is_known() {
            return Self { untold: above_slack(share(off, busy)), ..Self::default() };
        }
        let counted = |counter: &Cumulative| Duration::from_nanos(counter.between(start, end));
        let waited = counted(&kernel.run_wait);
        let ready = waited.min(off);
        let stolen = counted(&kernel.stolen).min(off.saturating_sub(ready));
        let slept = off.saturating_sub(ready + stolen);
        let siblings: Duration = kernel.siblings.iter().map(counted).sum();
        Self {
            no_cpu: above_slack(share((ready + stolen).saturating_sub(siblings), busy)),
            blocked: above_slack(share(slept, busy)),
            untold: 0.0,
            woken: share(waited.saturating_sub(ready).min(poll), poll),
        }
    }
}

fn share(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() { 0.0 } else { part.as_secs_f64() / whole.as_secs_f64() }
}

fn above_slack(share: f64) -> f64 {
    if share >= SLACK { share } else { 0.0 }
}

#[cfg(test)]
mod tests;
