//! A worker's time as a lane of cells, from what it told and from what was seen of it meanwhile.
//!
//! A step is told when it ends, so a worker inside a long one says nothing. Whether it runs or sleeps
//! meanwhile is seen from outside (`schedstat`, proc(5)), and that is all that is shown then.

use std::collections::VecDeque;
use std::time::Duration;

use records::{Holder, MonoNs};

/// A piece of time to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) start: MonoNs,
    pub(crate) end: MonoNs,
    pub(crate) extent: Extent,
}

/// What a window is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The time before now, of a trial that runs.
    Lately,
    /// The whole load of a trial that is over.
    Load,
}

/// A piece of a worker's time, as told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start: MonoNs,
    pub(crate) end: MonoNs,
    pub(crate) kind: SpanKind,
}

/// What it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpanKind {
    /// One step long enough to be told by itself.
    Hold(Holder),
    /// Loop turns of short steps; holds may lie in it.
    Turning,
    /// Most of it in the poll.
    Asleep,
}

/// What is known of one worker.
#[derive(Clone, Debug, Default)]
pub(crate) struct Worker {
    spans: Vec<Span>,
    told_until: MonoNs,
    /// Times on or ready for a CPU since the worker's start, ns, as seen lately.
    awake: VecDeque<(MonoNs, u64)>,
}

/// A cell of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// Nothing is known.
    Blank,
    /// In its poll.
    Asleep,
    /// Turning its loop.
    Turning,
    /// Inside one step that is at least as long as the cell, for most of it.
    Held(Holder),
    /// Most of the time inside steps that are told one by one, none of which fills the cell.
    Steps(Holder),
    /// It told nothing yet.
    Silent(Silence),
}

/// What is seen of a worker that tells nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// It runs, or waits for a CPU: it is inside one step.
    Busy,
    /// It sleeps.
    Asleep,
    /// It was not looked at.
    Unseen,
}

/// How many looks are kept: 25 ms apart, more than a silence that matters.
const LOOKS: usize = 512;
/// A shorter silence is only the way of the records.
const QUIET: Duration = Duration::from_millis(60);

impl Worker {
    pub(crate) fn told(&mut self, span: Span) {
        if span.start < span.end {
            self.told_until = self.told_until.max(span.end);
            self.spans.push(span);
        }
    }

    pub(crate) fn watched(&mut self, at: MonoNs, awake_ns: u64) {
        self.awake.push_back((at, awake_ns));
        if self.awake.len() > LOOKS {
            self.awake.pop_front();
        }
    }

    /// How long it has been silent at `now`, and what is seen of it; `None`: it is not silent, or
    /// never spoke.
    pub(crate) fn silence(&self, now: MonoNs) -> Option<(Duration, Silence)> {
        let length = now.since(self.told_until);
        (!self.spans.is_empty() && length >= QUIET)
            .then(|| (length, self.seen(self.told_until, now)))
    }

    fn seen(&self, from: MonoNs, to: MonoNs) -> Silence {
        let mut looks = self.awake.iter().filter(|(at, _)| (from..=to).contains(at));
        let (Some((first, before)), Some((last, after))) = (looks.next(), looks.next_back()) else {
            return Silence::Unseen;
        };
        let awake = Duration::from_nanos(after.saturating_sub(*before));
        if awake * 2 >= last.since(*first) { Silence::Busy } else { Silence::Asleep }
    }

    /// The lane of `count` cells over `window`; silence is told up to `now`.
    pub(crate) fn cells(&self, window: Window, count: usize, now: MonoNs) -> Vec<Cell> {
        let mut sums = vec![Sum::default(); count];
        for span in &self.spans {
            window.spread(span.start, span.end, &mut sums, |sum, ns| sum.add(span, ns));
        }
        if let Some((_, silence)) = self.silence(now.min(window.end)) {
            let to = now.min(window.end);
            window.spread(self.told_until, to, &mut sums, |sum, ns| {
                sum.silent = Some((ns, silence));
            });
        }
        let width = window.cell_ns(count);
        sums.iter().map(|sum| sum.cell(width)).collect()
    }
}

impl Window {
    /// About `length` before `now`, as `count` whole cells that stay where they are in time: a lane
    /// moves cell by cell and does not shimmer.
    pub(crate) fn before(now: MonoNs, length: Duration, count: usize) -> Self {
        let count = u64::try_from(count.max(1)).unwrap_or(u64::MAX);
        let length = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        let cell = (length / count).max(1);
        let end = now.0 - now.0 % cell;
        let start = MonoNs(end.saturating_sub(cell.saturating_mul(count)));
        Self { start, end: MonoNs(end), extent: Extent::Lately }
    }

    /// The cell that `at` falls into.
    pub(crate) fn index(&self, at: MonoNs, count: usize) -> Option<usize> {
        if at < self.start || at >= self.end {
            return None;
        }
        let length = u128::from(self.end.0 - self.start.0);
        let index = u128::from(at.0 - self.start.0) * count as u128 / length;
        usize::try_from(index).ok().filter(|index| *index < count)
    }

    /// Length of a cell, ns; 1 at least.
    fn cell_ns(&self, count: usize) -> u64 {
        let length = self.end.0.saturating_sub(self.start.0);
        (length / u64::try_from(count.max(1)).unwrap_or(1)).max(1)
    }

    /// Hands each cell the part of `start..end` that lies in it, ns.
    fn spread(
        &self,
        start: MonoNs,
        end: MonoNs,
        sums: &mut [Sum],
        mut add: impl FnMut(&mut Sum, u64),
    ) {
        let (from, to) = (start.max(self.start), end.min(self.end));
        if from >= to {
            return;
        }
        let width = self.cell_ns(sums.len());
        let first = usize::try_from((from.0 - self.start.0) / width).unwrap_or(usize::MAX);
        for (index, sum) in sums.iter_mut().enumerate().skip(first) {
            let offset = width.saturating_mul(index as u64);
            let cell = self.start.0.saturating_add(offset);
            if cell >= to.0 {
                return;
            }
            let part = to.0.min(cell.saturating_add(width)).saturating_sub(from.0.max(cell));
            if part > 0 {
                add(sum, part);
            }
        }
    }
}

/// What a cell is made of, ns.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    turning: u64,
    asleep: u64,
    holds: u64,
    /// Of the hold that takes most of the cell: its part in it, its whole length, whom it served.
    longest: Option<(u64, u64, Holder)>,
    silent: Option<(u64, Silence)>,
}

impl Sum {
    fn add(&mut self, span: &Span, ns: u64) {
        match span.kind {
            SpanKind::Turning => self.turning = self.turning.saturating_add(ns),
            SpanKind::Asleep => self.asleep = self.asleep.saturating_add(ns),
            SpanKind::Hold(holder) => {
                self.holds = self.holds.saturating_add(ns);
                if self.longest.is_none_or(|(longest, ..)| longest < ns) {
                    let whole = span.end.0.saturating_sub(span.start.0);
                    self.longest = Some((ns, whole, holder));
                }
            }
        }
    }

    fn cell(&self, width: u64) -> Cell {
        match (self.longest, self.silent) {
            // The edges of a long step seldom are those of a cell.
            (Some((ns, whole, holder)), _) if whole >= width && ns.saturating_mul(2) >= width => {
                Cell::Held(holder)
            }
            (Some((.., holder)), _) if self.holds.saturating_mul(2) >= width => Cell::Steps(holder),
            (_, Some((ns, silence))) if ns.saturating_mul(2) >= width => Cell::Silent(silence),
            _ if self.turning == 0 && self.asleep == 0 => Cell::Blank,
            _ if self.turning >= self.asleep => Cell::Turning,
            _ => Cell::Asleep,
        }
    }
}

#[cfg(test)]
mod tests;
