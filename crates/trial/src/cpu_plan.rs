//! Which CPUs the workers get and which the load. Pure.
//!
//! The load (origin, clients, the harness itself) must never take CPU time from a worker when
//! there is another CPU: it would starve the workers itself and prove nothing. Who wants to see just
//! that puts a role of the load elsewhere by hand.

use std::collections::BTreeMap;

use net::cpu::CpuList;
use records::{Pin, Role};

#[cfg(test)]
mod tests;

/// Where everything runs; absent: where the scheduler likes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuPlan {
    /// Workers, one CPU each in turn.
    pub workers: Option<CpuList>,
    /// All else.
    pub load: Option<CpuList>,
    /// Roles of the load that have CPUs of their own choice.
    own: BTreeMap<Role, CpuList>,
}

impl CpuPlan {
    /// The plan for `workers` event loops on the CPUs this process may use.
    ///
    /// `Pin::Auto`: on one CPU everything shares it; on two the workers have the first and the load
    /// the second; on more a CPU per worker, as far as a third of the CPUs is left for the load.
    ///
    /// # Errors
    /// A CPU was asked for that this process may not use.
    pub fn new(allowed: &[usize], workers: u32, pin: &Pin) -> anyhow::Result<Self> {
        let for_workers: Vec<usize> = match pin {
            Pin::Off => return Ok(Self::default()),
            Pin::Workers(cpus) => cpus.as_slice().to_vec(),
            Pin::Auto => {
                let load = allowed.len().div_ceil(3).max(1);
                let free = allowed.len().saturating_sub(load).max(1);
                allowed.iter().copied().take(free.min(workers.max(1) as usize)).collect()
            }
        };
        check(&for_workers, allowed)?;
        let rest: Vec<usize> =
            allowed.iter().copied().filter(|cpu| !for_workers.contains(cpu)).collect();
        // With no CPU left the load shares those of the workers.
        let load = CpuList::new(rest).or_else(|| CpuList::new(allowed.to_vec()));
        Ok(Self { workers: CpuList::new(for_workers), load, own: BTreeMap::new() })
    }

    /// The same, with CPUs of their own for some roles; of two for one role the later counts.
    ///
    /// # Errors
    /// A CPU was asked for that this process may not use.
    pub fn with(mut self, own: &[(Role, CpuList)], allowed: &[usize]) -> anyhow::Result<Self> {
        for (role, cpus) in own {
            check(cpus.as_slice(), allowed)?;
            self.own.insert(*role, cpus.clone());
        }
        Ok(self)
    }

    /// Where the process of a role runs. The proxy's is with the load: only its workers, each a
    /// thread, have their own place.
    pub fn of(&self, role: Role) -> Option<&CpuList> {
        self.own.get(&role).or(self.load.as_ref())
    }

    /// Roles with CPUs of their own choice, and which.
    pub fn own(&self) -> BTreeMap<Role, Vec<usize>> {
        self.own.iter().map(|(role, cpus)| (*role, cpus.as_slice().to_vec())).collect()
    }

    /// The numbers for the manifest; empty: not pinned.
    pub fn numbers(cpus: Option<&CpuList>) -> Vec<usize> {
        cpus.map(|cpus| cpus.as_slice().to_vec()).unwrap_or_default()
    }
}

fn check(cpus: &[usize], allowed: &[usize]) -> anyhow::Result<()> {
    let Some(cpu) = cpus.iter().find(|cpu| !allowed.contains(cpu)) else { return Ok(()) };
    let allowed = CpuList::new(allowed.to_vec());
    let allowed = allowed.map_or_else(|| "none".to_owned(), |cpus| cpus.to_string());
    anyhow::bail!("CPU {cpu} cannot be used here: this process may run on {allowed}")
}

/// Reads a role of the load and the CPUs chosen for it, as `origin=0` or `slow=1,2`.
///
/// # Errors
/// It is written otherwise.
pub fn role_cpus(text: &str) -> Result<(Role, CpuList), String> {
    let wrong =
        || format!("{text:?} gives no role its CPUs: write it as origin=0, slow=1,2 or fast=0-3");
    let (role, cpus) = text.split_once('=').ok_or_else(wrong)?;
    if role == Role::Proxy.name() {
        return Err("the proxy's workers get their CPUs with --pin, as --pin 0,1".to_owned());
    }
    let role = [Role::Origin, Role::Slow, Role::Fast].into_iter().find(|r| r.name() == role);
    Ok((role.ok_or_else(wrong)?, cpus.parse().map_err(|_| wrong())?))
}
