//! Which CPUs the workers get and which the load. Pure.
//!
//! The load (origin, clients, the harness itself) must never take CPU time from a worker when
//! there is another CPU: it would starve the workers itself and prove nothing.

use net::cpu::CpuList;
use records::Pin;

#[cfg(test)]
mod tests;

/// Where everything runs; absent: where the scheduler likes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuPlan {
    /// Workers, one CPU each in turn.
    pub workers: Option<CpuList>,
    /// All else.
    pub load: Option<CpuList>,
}

impl CpuPlan {
    /// The plan for `workers` event loops on the CPUs this process may use.
    ///
    /// `Pin::Auto`: on one CPU everything shares it; on two the workers have the first and the load
    /// the second; on more a CPU per worker, as far as a third of the CPUs is left for the load.
    ///
    /// # Errors
    /// A CPU was asked for that this process may not use.
    pub fn new(allowed: &[usize], workers: u32, pin: &Pin) -> Result<Self, CpuPlanError> {
        let for_workers: Vec<usize> = match pin {
            Pin::Off => return Ok(Self { workers: None, load: None }),
            Pin::Workers(cpus) => cpus.clone(),
            Pin::Auto => {
                let load = allowed.len().div_ceil(3).max(1);
                let free = allowed.len().saturating_sub(load).max(1);
                allowed.iter().copied().take(free.min(workers.max(1) as usize)).collect()
            }
        };
        if let Some(&cpu) = for_workers.iter().find(|cpu| !allowed.contains(cpu)) {
            return Err(CpuPlanError { cpu, allowed: CpuList::new(allowed.to_vec()) });
        }
        let rest: Vec<usize> =
            allowed.iter().copied().filter(|cpu| !for_workers.contains(cpu)).collect();
        // With no CPU left the load shares those of the workers.
        let load = CpuList::new(rest).or_else(|| CpuList::new(allowed.to_vec()));
        Ok(Self { workers: CpuList::new(for_workers), load })
    }

    /// The numbers for the manifest; empty: not pinned.
    pub fn numbers(cpus: Option<&CpuList>) -> Vec<usize> {
        cpus.map(|cpus| cpus.as_slice().to_vec()).unwrap_or_default()
    }
}

/// A CPU that was asked for is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "CPU {cpu} cannot be used here: this process may run on {}",
    allowed.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string)
)]
pub struct CpuPlanError {
    cpu: usize,
    allowed: Option<CpuList>,
}
