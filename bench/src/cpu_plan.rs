//! Which CPU the proxy's workers get and which the rest.

use anyhow::Context;
use net::cpu::{self, CpuList};

#[cfg(test)]
mod tests;

/// Where everything runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CpuPlan {
    /// Workers on one CPU, origin, slow client and the proxy's other threads on another.
    Split {
        /// The first CPU.
        workers: CpuList,
        /// The last CPU.
        load: CpuList,
    },
    /// There is only one CPU: the scheduler decides.
    Shared,
}

impl CpuPlan {
    /// The plan for the CPUs this process may use. One for each side also where there are more: a
    /// figure is of one core of proxy against one core of load, on every host.
    pub(crate) fn new(allowed: &[usize]) -> Self {
        match (allowed.first(), allowed.last()) {
            (Some(&first), Some(&last)) if first != last => {
                match (CpuList::new(vec![first]), CpuList::new(vec![last])) {
                    (Some(workers), Some(load)) => Self::Split { workers, load },
                    _ => Self::Shared,
                }
            }
            _ => Self::Shared,
        }
    }

    /// The plan for this process. Says on standard error if nothing can be pinned.
    ///
    /// # Errors
    /// The kernel does not tell which CPUs there are.
    pub(crate) fn of_this_host() -> anyhow::Result<Self> {
        let plan = Self::new(&cpu::allowed().context("failed to ask for this host's CPUs")?);
        if plan == Self::Shared {
            say_unpinned();
        }
        Ok(plan)
    }

    /// For the workers; `None`: not pinned.
    pub(crate) fn workers(&self) -> Option<&CpuList> {
        match self {
            Self::Split { workers, .. } => Some(workers),
            Self::Shared => None,
        }
    }

    /// For all else; `None`: not pinned.
    pub(crate) fn load(&self) -> Option<&CpuList> {
        match self {
            Self::Split { load, .. } => Some(load),
            Self::Shared => None,
        }
    }
}

#[expect(clippy::print_stderr, reason = "a caveat that people must see beside the figure")]
fn say_unpinned() {
    eprintln!("this process may use one CPU only: nothing is pinned, proxy and load share it");
}
