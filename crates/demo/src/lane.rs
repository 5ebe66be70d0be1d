//! A worker's time as a lane of cells, from what it told and from what was seen of it meanwhile.
//!
//! A step is told when it ends, so a worker inside a long one says nothing. Whether it runs meanwhile is
//! seen from outside (`schedstat`, proc(5)), and that is all that is shown then.

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

/// A cell of a lane: what the worker did in the middle of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// Nothing is known.
    Blank,
    /// Most of the time in its poll.
    Asleep,
    /// Loop turns of short steps.
    Turning,
    /// Inside one step that is long enough to be told by itself.
    Held(Holder),
    /// It told nothing yet, and runs or waits for a CPU: it is inside one step.
    Silent,
}

/// What is known of one worker.
#[derive(Clone, Debug, Default)]
pub(crate) struct Worker {
    spans: Vec<(MonoNs, MonoNs, Cell)>,
    told_until: MonoNs,
    /// Times on or ready for a CPU since the worker's start, ns, as seen lately.
    awake: VecDeque<(MonoNs, u64)>,
}

/// How many looks are kept: 25 ms apart, more than a silence that matters.
const LOOKS: usize = 512;
/// A shorter silence is only the way of the records.
const QUIET: Duration = Duration::from_millis(60);

impl Worker {
    pub(crate) fn told(&mut self, start: MonoNs, end: MonoNs, what: Cell) {
        if start < end {
            self.told_until = self.told_until.max(end);
            self.spans.push((start, end, what));
        }
    }

    pub(crate) fn watched(&mut self, at: MonoNs, awake_ns: u64) {
        self.awake.push_back((at, awake_ns));
        if self.awake.len() > LOOKS {
            self.awake.pop_front();
        }
    }

    /// How long it has told nothing at `now` though it was seen to be at work; `None`: it slept, was not
    /// looked at, or never spoke.
    pub(crate) fn silence(&self, now: MonoNs) -> Option<Duration> {
        let length = now.since(self.told_until);
        let since = |(at, _): &&(MonoNs, u64)| (self.told_until..=now).contains(at);
        let mut looks = self.awake.iter().filter(since);
        let ((first, before), (last, after)) = (looks.next()?, looks.next_back()?);
        let awake = Duration::from_nanos(after.saturating_sub(*before));
        let busy = awake * 2 >= last.since(*first);
        (!self.spans.is_empty() && length >= QUIET && busy).then_some(length)
    }

    /// The lane of `count` cells over `window`; of a trial that runs silence is told up to `now`.
    pub(crate) fn cells(&self, window: Window, count: usize, now: MonoNs) -> Vec<Cell> {
        let mut cells = vec![Cell::Blank; count];
        let mut paint = |start: MonoNs, end: MonoNs, what: Cell| {
            let covered = window.middles(start, end, count);
            cells.get_mut(covered).into_iter().for_each(|cells| cells.fill(what));
        };
        // Holds over all else: they lie within what is told of turns.
        let (holds, others): (Vec<_>, Vec<_>) =
            self.spans.iter().partition(|(.., what)| matches!(what, Cell::Held(_)));
        others.into_iter().chain(holds).for_each(|(start, end, what)| paint(start, end, what));
        if window.extent == Extent::Lately && self.silence(now).is_some() {
            paint(self.told_until, now, Cell::Silent);
        }
        cells
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
        let index = self.place(at, count);
        (at >= self.start && index < count).then_some(index)
    }

    /// The cells of which the middle lies from `start` to before `end`.
    fn middles(&self, start: MonoNs, end: MonoNs, count: usize) -> std::ops::Range<usize> {
        // The middles are the odd bounds of twice as many cells.
        let after = |at: MonoNs| self.place(at, count.saturating_mul(2)).div_ceil(2).min(count);
        let (from, to) = (after(start), after(end));
        from..to.max(from)
    }

    /// How many cells lie before `at`; at most one more than there are.
    fn place(&self, at: MonoNs, count: usize) -> usize {
        let length = u128::from(self.end.0.saturating_sub(self.start.0)).max(1);
        let offset = u128::from(at.0.saturating_sub(self.start.0));
        usize::try_from(offset * count as u128 / length).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests;
