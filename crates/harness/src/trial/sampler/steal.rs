//! CPU time that the hypervisor withheld from each CPU a worker may run on: `/proc/stat` (proc(5)).

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
/// Where `steal` stands in a line, the name not counted: since Linux 2.6.11.
const FIELD: usize = 7;

impl Look for Steal {
    /// The kernel counts in ticks of 10 ms. One read takes 10 us on two CPUs, 45 us in a loaded
    /// trial (Linux 6.18).
    const INTERVAL: Duration = Duration::from_millis(100);

    fn look(&mut self, seen: &mut Vec<Record>) {
        let at_ns = clock::now();
        let Ok(text) = fs::read_to_string("/proc/stat") else { return };
        let wanted = |cpu: u32| self.cpus.is_empty() || self.cpus.contains(&(cpu as usize));
        let samples = stolen(&text).filter(|&(cpu, _)| wanted(cpu)).take(MOST);
        seen.extend(samples.map(|(cpu, ticks)| {
            let stolen_ms = ticks.saturating_mul(1_000) / procfs::ticks_per_second().max(1);
            Record::CpuSample(CpuSample { cpu, at_ns, stolen_ms })
        }));
    }
}

impl Steal {
    /// Watches `cpus`; empty: all there are.
    pub(super) fn new(cpus: Vec<usize>) -> Self {
        Self { cpus }
    }
}

/// Ticks withheld by CPU. A CPU that is offline has no line, so its number is read and not counted.
fn stolen(text: &str) -> impl Iterator<Item = (u32, u64)> {
    text.lines().filter_map(|line| {
        let mut fields = line.strip_prefix("cpu")?.split(' ');
        let cpu = fields.next()?.parse().ok()?;
        Some((cpu, fields.nth(FIELD)?.parse().ok()?))
    })
}
