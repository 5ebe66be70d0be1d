//! Which CPU the proxy's workers get and which the rest. Pure.

use net::cpu::CpuList;

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
