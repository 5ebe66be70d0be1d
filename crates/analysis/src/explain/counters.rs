//! What was counted of CPU time, by the kernel and by the workers, each counter made once.

use std::collections::BTreeMap;

use records::{MonoNs, RunRecords, Stretch, Watched};

use super::cumulative::Cumulative;
use super::timeline::Kernel;
use crate::grouped::grouped;

/// The counters of a run, ns.
pub(crate) struct Counters {
    /// Time that each worker was ready without a CPU.
    pub(crate) run_wait: BTreeMap<u32, Cumulative>,
    /// Time that the hypervisor withheld from each CPU.
    pub(crate) stolen: BTreeMap<u32, Cumulative>,
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
        let cumulative = |readings: BTreeMap<u32, Vec<(MonoNs, u64)>>| {
            readings.into_iter().map(|(who, of_one)| (who, Cumulative::new(of_one))).collect()
        };
        Self {
            run_wait: cumulative(grouped(run_wait)),
            stolen: cumulative(grouped(stolen)),
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
