//! What was counted of CPU time, by the kernel and by the workers, each counter made once; and a
//! counter that only grows, known at some points in time.

use std::collections::BTreeMap;

use records::{MonoNs, RunRecords, Stretch, Watched};

use crate::window::grouped;

/// What the kernel says of one worker's thread and CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kernel {
    /// Time ready without a CPU, ns.
    pub(crate) run_wait: Cumulative,
    /// Time withheld by the hypervisor from each CPU it may run on, ns.
    pub(crate) stolen: Vec<Cumulative>,
    /// Time withheld by the quota of the workers' control group, ns of one CPU.
    pub(crate) throttled: Cumulative,
    /// CPU time of the other workers on the same CPU, ns, one counter each.
    pub(crate) siblings: Vec<Cumulative>,
    /// CPU time on the same CPU that no worker used, ns; unknown where nobody told it.
    pub(crate) strangers: Cumulative,
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
        let stolen = records
            .stolen
            .iter()
            .map(|sample| (sample.cpu, (sample.at_ns, sample.stolen_ms.saturating_mul(1_000_000))));
        // The kernel counts it for all CPUs together, and does not say how much for each.
        let (host, workers) = (&records.manifest.host, records.manifest.worker_count() as usize);
        let cpus = if host.worker_cpus.is_empty() { host.cpus } else { host.worker_cpus.len() };
        let cpus = cpus.min(workers).max(1) as u64;
        let throttled = records
            .throttled
            .iter()
            .map(|sample| (sample.at_ns, sample.throttled_us.0.saturating_mul(1_000) / cpus));
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
    pub(crate) fn kernel(&self, records: &RunRecords, worker: u32) -> Kernel {
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
        Kernel {
            run_wait: self.run_wait.get(&worker).cloned().unwrap_or_default(),
            stolen: stolen.map(|(_, withheld)| withheld.clone()).collect(),
            throttled: self.throttled.clone(),
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
        points.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.1 = later.1;
            }
            same
        });
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

#[cfg(test)]
mod tests;
