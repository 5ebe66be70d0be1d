//! A worker as the kernel's scheduler sees it.

use serde::{Deserialize, Serialize};

use crate::MonoNs;

/// Counters of one worker's thread since it started, from `/proc/<pid>/task/<tid>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerSample {
    /// Which worker, from 0.
    pub worker: u32,
    /// When it was read.
    pub at_ns: MonoNs,
    /// User time, ms (`stat`, in clock ticks of 10 ms).
    pub user_ms: u64,
    /// System time, ms (`stat`).
    pub system_ms: u64,
    /// Time on a CPU, ns (`schedstat`, field 1); absent where the kernel hides it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run_ns: Option<u64>,
    /// Time ready to run without a CPU, ns (`schedstat`, field 2).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run_wait_ns: Option<u64>,
    /// Voluntary context switches (`status`).
    pub voluntary_switches: u64,
    /// Involuntary context switches (`status`).
    pub involuntary_switches: u64,
}
