//! How much of a worker's time it had no CPU, and why.
//!
//! A worker tells how long it was in polls and how much CPU it used. So how long it was busy and had
//! none is known of every stretch. Why is known over an epoch only, from counters of the kernel that
//! are read every 25 ms or more rarely:
//!
//! - ready, or stolen: no CPU. While it was ready others ran. Up to the CPU time that other workers of
//!   the proxy used on the same CPU while this one was busy, that is the proxy's own work and stays
//!   with it: two workers on one CPU take turns, and a step lasts as long as it lasts. Where strangers
//!   ran there as well, the wait is divided as the two used the CPU. The rest is [`Off::no_cpu`].
//! - of that time, what was stolen and what the quota of the workers' control group withheld is
//!   [`Off::withheld`]; the rest others had.
//! - not ready, and not stolen: it slept, [`Off::blocked`].
//! - ready while in a poll: woken, but without a CPU, [`Off::woken`].
//!
//! Invariant: what a counter grew by is given to one epoch, once.

use std::time::Duration;

use records::{MonoNs, Stretch};

use super::counters::{Cumulative, Kernel};
use crate::window::share;

/// Below this part of the busy time, time off CPU that nothing accounts for is an error of
/// measurement, and stays with what the worker was doing.
const SLACK: f64 = 0.05;

/// Parts of the time that a worker had no CPU, each 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Off {
    /// Of its busy time: ready, without a CPU, because of others than the proxy's own workers.
    pub(crate) no_cpu: f64,
    /// Of its busy time: asleep in a system call.
    pub(crate) blocked: f64,
    /// Of its busy time: off CPU, and the kernel does not say why.
    pub(crate) untold: f64,
    /// Of its time in polls: woken, without a CPU.
    pub(crate) woken: f64,
    /// Of the time of [`Self::no_cpu`] and [`Self::woken`]: its host withheld it.
    pub(crate) withheld: f64,
}

/// Goes through the life of a worker, epoch after epoch.
pub(crate) struct Reckoner<'a> {
    kernel: &'a Kernel,
    run_wait: Claims<'a>,
    stolen: Vec<Claims<'a>>,
    throttled: Claims<'a>,
}

/// Why a worker had no CPU in an epoch: as parts of the time it had none.
pub(crate) struct Reasons {
    no_cpu: f64,
    blocked: f64,
    untold: f64,
    /// As in [`Off`].
    woken: f64,
    /// As in [`Off`].
    withheld: f64,
}

impl<'a> Reckoner<'a> {
    /// At the start of a worker's life.
    pub(crate) fn new(kernel: &'a Kernel) -> Self {
        let stolen = kernel.stolen.iter().map(Claims::on).collect();
        let [run_wait, throttled] = [&kernel.run_wait, &kernel.throttled].map(Claims::on);
        Self { kernel, run_wait, stolen, throttled }
    }

    /// The reasons of the next epoch, whose stretches have no gap.
    pub(crate) fn reasons(&mut self, epoch: &[&Stretch]) -> Reasons {
        let start = epoch.first().map_or(MonoNs(0), |stretch| stretch.start_ns);
        let end = epoch.last().map_or(start, |stretch| stretch.end_ns);
        let sum = |part: fn(&Stretch) -> Duration| -> Duration {
            epoch.iter().map(|stretch| part(stretch)).sum()
        };
        let (busy, off, poll) = (sum(busy), sum(off), sum(poll));
        let above_slack = |part: Duration| {
            if share(part, busy) >= SLACK { share(part, off) } else { 0.0 }
        };
        if !self.kernel.run_wait.is_known() {
            let untold = above_slack(off);
            return Reasons { no_cpu: 0.0, blocked: 0.0, untold, woken: 0.0, withheld: 0.0 };
        }
        let ready = self.run_wait.claim(start, end, off);
        let mut stolen = Duration::ZERO;
        for counter in &mut self.stolen {
            stolen += counter.claim(start, end, off.saturating_sub(ready + stolen));
        }
        let slept = off.saturating_sub(ready + stolen);
        let untold = slept.min(self.unread(start, end));
        let no_cpu = (ready + stolen).saturating_sub(self.siblings_part(epoch, ready));
        let woken = self.run_wait.left(end).min(poll);
        let throttled = self.throttled.claim(start, end, no_cpu + woken);
        Reasons {
            no_cpu: above_slack(no_cpu),
            blocked: above_slack(slept.saturating_sub(untold)),
            untold: above_slack(untold),
            woken: share(woken, poll),
            withheld: share(stolen + throttled, no_cpu + woken).min(1.0),
        }
    }

    /// How much of the time that a worker was `ready` its siblings ran. What they did while it was in
    /// its poll kept it from nothing; within a stretch, polls are taken to be spread evenly.
    fn siblings_part(&self, epoch: &[&Stretch], ready: Duration) -> Duration {
        let while_busy = |used: &Cumulative| -> Duration {
            let within = |stretch: &&Stretch| {
                let used = ns(used.between(stretch.start_ns, stretch.end_ns));
                used.mul_f64(share(busy(stretch), stretch.length_us().as_duration()).min(1.0))
            };
            epoch.iter().map(within).sum()
        };
        let siblings: Duration = self.kernel.siblings.iter().map(while_busy).sum();
        let all = siblings + while_busy(&self.kernel.strangers);
        siblings.min(ready.mul_f64(share(siblings, all)))
    }

    /// How much of an epoch lies outside a counter's readings: a sleep cannot be told from a wait
    /// there.
    fn unread(&self, start: MonoNs, end: MonoNs) -> Duration {
        let counters = [&self.kernel.run_wait].into_iter().chain(&self.kernel.stolen);
        counters.map(|counter| ns(counter.unread(start, end))).max().unwrap_or_default()
    }
}

impl Reasons {
    /// The parts of one stretch of the epoch.
    pub(crate) fn within(&self, stretch: &Stretch) -> Off {
        let off = share(off(stretch), busy(stretch));
        Off {
            no_cpu: off * self.no_cpu,
            blocked: off * self.blocked,
            untold: off * self.untold,
            woken: self.woken,
            withheld: self.withheld,
        }
    }
}

/// A counter of the kernel, and how much of it has been given to epochs.
///
/// Between two readings nothing is known, and the kernel counts a wait only when it has ended. So a
/// wait that ended just before its epoch did stands in the next reading, perhaps all of it: an epoch
/// may claim up to that one, as far as it can use it. What is left of a reading when the next epoch
/// begins after it was not needed.
struct Claims<'a> {
    counter: &'a Cumulative,
    claimed: u64,
}

impl<'a> Claims<'a> {
    fn on(counter: &'a Cumulative) -> Self {
        Self { counter, claimed: 0 }
    }

    /// Up to `most` of what may have been counted from `start` to `end`.
    fn claim(&mut self, start: MonoNs, end: MonoNs, most: Duration) -> Duration {
        self.claimed = self.claimed.max(self.counter.before(start));
        let part = ns(self.counter.after(end).saturating_sub(self.claimed)).min(most);
        self.claimed = self.claimed.saturating_add(u64::try_from(part.as_nanos()).unwrap_or(0));
        part
    }

    /// What was counted by `end` for certain, and not claimed.
    fn left(&self, end: MonoNs) -> Duration {
        ns(self.counter.before(end).saturating_sub(self.claimed))
    }
}

fn poll(stretch: &Stretch) -> Duration {
    stretch.poll_us.as_duration().min(stretch.length_us().as_duration())
}

/// Time out of polls.
fn busy(stretch: &Stretch) -> Duration {
    stretch.length_us().as_duration().saturating_sub(poll(stretch))
}

/// Busy time without a CPU.
fn off(stretch: &Stretch) -> Duration {
    busy(stretch).saturating_sub(stretch.cpu_us.as_duration())
}

fn ns(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}
