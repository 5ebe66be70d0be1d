//! CPU time: what the kernel and the workers counted of it, each counter made once; and how much of its
//! time a worker had no CPU, and why.
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

use std::collections::BTreeMap;
use std::time::Duration;

use records::{MonoNs, RunRecords, Stretch, Watched};

use crate::window::{grouped, share};

/// What the kernel says of one worker's thread and CPU; goes through the worker's life, epoch after epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reckoner {
    /// Time ready without a CPU, ns.
    run_wait: Claims,
    /// Time withheld by the hypervisor from each CPU it may run on, ns.
    stolen: Vec<Claims>,
    /// Time withheld by the quota of the workers' control group, ns of one CPU.
    throttled: Claims,
    /// CPU time of the other workers on the same CPU, ns, one counter each.
    siblings: Vec<Cumulative>,
    /// CPU time on the same CPU that no worker used, ns; unknown where nobody told it.
    strangers: Cumulative,
}

/// The counters of a run, ns.
pub(crate) struct Counters {
    /// Time that each worker was ready without a CPU.
    pub(crate) run_wait: BTreeMap<u32, Cumulative>,
    /// Time that the hypervisor withheld from each CPU.
    pub(crate) stolen: BTreeMap<u32, Cumulative>,
    /// Time that a quota withheld from the workers' control group, of one CPU.
    pub(crate) throttled: Cumulative,
    /// CPU time of each worker over its life, as it told it.
    used: BTreeMap<u32, Cumulative>,
}

impl Counters {
    /// What was counted in a run whose workers told of these stretches.
    pub(crate) fn of(records: &RunRecords, stretches: &BTreeMap<u32, Vec<&Stretch>>) -> Self {
        let run_wait = records.sched.iter().filter_map(|sample| match sample.who {
            Watched::Worker(worker) => Some((worker, (sample.at_ns, sample.run_wait_ns))),
            _ => None,
        });
        let stolen = records.stolen.iter();
        let stolen = stolen.map(|of| (of.cpu, (of.at_ns, of.stolen_ms.saturating_mul(1_000_000))));
        // The kernel counts it for all CPUs together, and does not say how much for each.
        let (host, workers) = (&records.manifest.host, records.manifest.worker_count() as usize);
        let cpus = if host.worker_cpus.is_empty() { host.cpus } else { host.worker_cpus.len() };
        let cpus = cpus.min(workers).max(1) as u64;
        let throttled = records.throttled.iter();
        let throttled =
            throttled.map(|of| (of.at_ns, of.throttled_us.0.saturating_mul(1_000) / cpus));
        let cumulative = |readings: BTreeMap<u32, Vec<(MonoNs, u64)>>| {
            readings.into_iter().map(|(who, of_one)| (who, Cumulative::new(of_one))).collect()
        };
        Self {
            run_wait: cumulative(grouped(run_wait)),
            stolen: cumulative(grouped(stolen)),
            throttled: Cumulative::new(throttled),
            used: stretches.iter().map(|(worker, told)| (*worker, cpu_time(told))).collect(),
        }
    }

    /// What the kernel says of the thread and the CPU of `worker`.
    pub(crate) fn reckoner(&self, records: &RunRecords, worker: u32) -> Reckoner {
        // Unpinned workers may meet on any.
        let cpu_of = |worker: u32| records.manifest.host.cpu_of(worker);
        let own_cpu = cpu_of(worker);
        let of_own_cpu = |cpu: u32| own_cpu.is_none_or(|own| own == cpu as usize);
        let stolen = self.stolen.iter().filter(|(cpu, _)| of_own_cpu(**cpu));
        let of_cpu =
            self.used.iter().filter(|(other, _)| own_cpu.is_some() && cpu_of(**other) == own_cpu);
        let others = of_cpu.clone().filter(|(other, _)| **other != worker);
        // What the CPU ran and no worker did. Ticks are coarse: the sum may seem to fall, and is lifted.
        let strangers = records.stolen.iter().filter_map(|sample| {
            let busy = sample.busy_ms.filter(|_| own_cpu == Some(sample.cpu as usize))?;
            let used = |(_, used): (&u32, &Cumulative)| used.between(MonoNs(0), sample.at_ns);
            let workers = of_cpu.clone().map(used).fold(0, u64::saturating_add);
            Some((sample.at_ns, busy.saturating_mul(1_000_000).saturating_sub(workers)))
        });
        Reckoner {
            run_wait: Claims::on(self.run_wait.get(&worker).cloned().unwrap_or_default()),
            stolen: stolen.map(|(_, withheld)| Claims::on(withheld.clone())).collect(),
            throttled: Claims::on(self.throttled.clone()),
            siblings: others.map(|(_, used)| used.clone()).collect(),
            strangers: Cumulative::new(strangers),
        }
    }
}

fn cpu_time(stretches: &[&Stretch]) -> Cumulative {
    let mut in_time = stretches.to_vec();
    in_time.sort_by_key(|stretch| stretch.start_ns);
    let mut used = 0_u64;
    let points = in_time.into_iter().flat_map(|stretch| {
        let before = (stretch.start_ns, used);
        used = used.saturating_add(stretch.cpu_us.0.saturating_mul(1_000));
        [before, (stretch.end_ns, used)]
    });
    Cumulative::new(points.collect::<Vec<_>>())
}

/// Values of a growing counter by time; between two of them it is taken to grow evenly.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cumulative {
    /// In the order of time, one at a time; the value never falls.
    points: Vec<(u64, u64)>,
}

impl Cumulative {
    /// From readings in any order. A reading below an earlier one is lifted to it.
    pub(crate) fn new(readings: impl IntoIterator<Item = (MonoNs, u64)>) -> Self {
        let mut points: Vec<(u64, u64)> =
            readings.into_iter().map(|(at, value)| (at.0, value)).collect();
        points.sort_unstable();
        let mut least = 0;
        for (_, value) in &mut points {
            least = least.max(*value);
            *value = least;
        }
        // Of two readings at one time the larger one counts.
        points.reverse();
        points.dedup_by_key(|(at, _)| *at);
        points.reverse();
        Self { points }
    }

    /// Whether it can say anything at all.
    pub(crate) fn is_known(&self) -> bool {
        self.points.len() >= 2
    }

    /// By how much it grew from `start` to `end`; nothing is known outside its readings, so it
    /// counts as standing still there.
    pub(crate) fn between(&self, start: MonoNs, end: MonoNs) -> u64 {
        self.at(end.0).saturating_sub(self.at(start.0))
    }

    /// What the last reading by `at` says; before the first, what that one says.
    pub(crate) fn before(&self, at: MonoNs) -> u64 {
        let after = self.points.partition_point(|&(time, _)| time <= at.0);
        self.points.get(after.saturating_sub(1)).map_or(0, |&(_, value)| value)
    }

    /// What the first reading from `at` on says; after the last, what that one says.
    pub(crate) fn after(&self, at: MonoNs) -> u64 {
        let before = self.points.partition_point(|&(time, _)| time < at.0);
        let reading = self.points.get(before).or(self.points.last());
        reading.map_or(0, |&(_, value)| value)
    }

    /// How much of the time from `start` to `end` lies outside its readings, ns.
    pub(crate) fn unread(&self, start: MonoNs, end: MonoNs) -> u64 {
        let all = end.0.saturating_sub(start.0);
        let (Some(&(first, _)), Some(&(last, _))) = (self.points.first(), self.points.last())
        else {
            return all;
        };
        all - last.min(end.0).saturating_sub(first.max(start.0)).min(all)
    }

    fn at(&self, at: u64) -> u64 {
        let after = self.points.partition_point(|&(time, _)| time <= at);
        let next = self.points.get(after);
        let last = after.checked_sub(1).and_then(|before| self.points.get(before));
        match (last, next) {
            (Some(&(from, low)), Some(&(to, high))) => {
                let part = u128::from(high - low) * u128::from(at - from) / u128::from(to - from);
                low + u64::try_from(part).unwrap_or(high - low)
            }
            (Some(&(_, value)), None) | (None, Some(&(_, value))) => value,
            (None, None) => 0,
        }
    }
}

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

impl Reckoner {
    /// Why the worker had no CPU in the next epoch, whose stretches have no gap: what is of its busy time, as
    /// parts of the time it had none ([`Off::within`]).
    pub(crate) fn reasons(&mut self, epoch: &[&Stretch]) -> Off {
        let start = epoch.first().map_or(MonoNs(0), |stretch| stretch.start_ns);
        let end = epoch.last().map_or(start, |stretch| stretch.end_ns);
        let sum = |part: fn(&Stretch) -> Duration| -> Duration {
            epoch.iter().map(|stretch| part(stretch)).sum()
        };
        let (busy, off, poll) = (sum(busy), sum(off), sum(poll));
        let above_slack = |part: Duration| {
            if share(part, busy) >= SLACK { share(part, off) } else { 0.0 }
        };
        if !self.run_wait.counter.is_known() {
            return Off { untold: above_slack(off), ..Off::default() };
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
        Off {
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
        let siblings: Duration = self.siblings.iter().map(while_busy).sum();
        let all = siblings + while_busy(&self.strangers);
        siblings.min(ready.mul_f64(share(siblings, all)))
    }

    /// How much of an epoch lies outside a counter's readings: a sleep cannot be told from a wait
    /// there.
    fn unread(&self, start: MonoNs, end: MonoNs) -> Duration {
        let counters = [&self.run_wait].into_iter().chain(&self.stolen);
        counters.map(|claims| ns(claims.counter.unread(start, end))).max().unwrap_or_default()
    }
}

impl Off {
    /// The parts of one stretch of the epoch of which these are the reasons.
    pub(crate) fn within(self, stretch: &Stretch) -> Self {
        let off = share(off(stretch), busy(stretch));
        let Self { no_cpu, blocked, untold, .. } = self;
        Self { no_cpu: off * no_cpu, blocked: off * blocked, untold: off * untold, ..self }
    }
}

/// A counter of the kernel, and how much of it has been given to epochs.
///
/// Between two readings nothing is known, and the kernel counts a wait only when it has ended. So a
/// wait that ended just before its epoch did stands in the next reading, perhaps all of it: an epoch
/// may claim up to that one, as far as it can use it. What is left of a reading when the next epoch
/// begins after it was not needed.
#[derive(Clone, Debug, Default)]
struct Claims {
    counter: Cumulative,
    claimed: u64,
}

impl Claims {
    fn on(counter: Cumulative) -> Self {
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

#[cfg(test)]
mod tests;
