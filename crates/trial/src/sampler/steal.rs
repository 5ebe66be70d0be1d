//! CPU time that was used, and that the hypervisor withheld, of each CPU a worker may run on:
//! `/proc/stat` (proc(5)).

use std::fs;
use std::time::Duration;

use net::clock;
use records::{CpuSample, Record};

use super::Look;

#[cfg(test)]
mod tests;

/// The CPUs that are watched.
#[derive(Debug)]
pub(super) struct Steal {
    /// Empty: all there are.
    cpus: Vec<usize>,
}

/// CPUs watched at most: the first.
const MOST: usize = 16;

impl Look for Steal {
    /// The kernel counts in ticks of 10 ms. One read takes 10 us on two CPUs, 45 us in a loaded
    /// trial (Linux 6.18).
    const INTERVAL: Duration = Duration::from_millis(100);

    fn look(&mut self, seen: &mut Vec<Record>) {
        let at_ns = clock::now();
        let Ok(text) = fs::read_to_string("/proc/stat") else { return };
        let wanted = |cpu: u32| self.cpus.is_empty() || self.cpus.contains(&(cpu as usize));
        let samples = ticks(&text).filter(|&(cpu, ..)| wanted(cpu)).take(MOST);
        let ms = |ticks: u64| ticks.saturating_mul(1_000) / procfs::ticks_per_second().max(1);
        seen.extend(samples.map(|(cpu, busy, stolen)| {
            let (stolen_ms, busy_ms) = (ms(stolen), Some(ms(busy)));
            Record::CpuSample(CpuSample { cpu, at_ns, stolen_ms, busy_ms })
        }));
    }
}

impl Steal {
    /// Watches `cpus`; empty: all there are.
    pub(super) fn new(cpus: Vec<usize>) -> Self {
        Self { cpus }
    }
}

/// Ticks by CPU: used, and withheld. A CPU that is offline has no line, so its number is read and not
/// counted. `steal` is there since Linux 2.6.11; guests' time, after it, is in `user` as well.
fn ticks(text: &str) -> impl Iterator<Item = (u32, u64, u64)> {
    text.lines().filter_map(|line| {
        let (cpu, fields) = line.strip_prefix("cpu")?.split_once(' ')?;
        let fields: Vec<u64> = fields.split(' ').map_while(|field| field.parse().ok()).collect();
        let &[user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = fields.as_slice()
        else {
            return None;
        };
        let busy = [user, nice, system, irq, softirq].into_iter().fold(0, u64::saturating_add);
        Some((cpu.parse().ok()?, busy, steal))
    })
}
