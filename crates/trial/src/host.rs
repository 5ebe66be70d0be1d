//! The machine, as the manifest tells of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use procfs::{Current, CurrentSI};
use records::{Bytes, Host};

use super::cpu_plan::CpuPlan;

/// Settings of the kernel that bear on the effect.
pub const SYSCTLS: [&str; 9] = [
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_max",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_migrate_req",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
];

/// Reads what there is; what the kernel hides is left out or zero.
pub fn read(plan: &CpuPlan) -> Host {
    Host {
        kernel: kernel().unwrap_or_default(),
        cpu_model: cpu_model().unwrap_or_default(),
        cpus: online_cpus(),
        worker_cpus: CpuPlan::numbers(plan.workers.as_ref()),
        load_cpus: CpuPlan::numbers(plan.load.as_ref()),
        memory_kib: procfs::Meminfo::current().map_or(0, |memory| memory.mem_total / 1024),
        sysctls: sysctls(),
        stolen_ms: 0,
    }
}

/// The most that SO_RCVBUF may ask for (socket(7)).
pub fn rmem_max() -> Option<Bytes> {
    sysctl("net.core.rmem_max")?.parse().ok().map(Bytes)
}

/// `uname -r`.
pub fn kernel() -> Option<String> {
    sysctl("kernel.osrelease")
}

/// CPUs online.
pub fn online_cpus() -> usize {
    procfs::KernelStats::current().map_or(1, |stats| stats.cpu_time.len().max(1))
}

/// CPU time the hypervisor withheld since boot, ms over all CPUs (proc(5), `steal`).
pub fn stolen_ms() -> Option<u64> {
    let ticks = procfs::KernelStats::current().ok()?.total.steal?;
    Some(ticks * 1_000 / procfs::ticks_per_second().max(1))
}

/// One sysctl by its dotted name, its white space as single blanks.
pub fn sysctl(name: &str) -> Option<String> {
    let path = Path::new("/proc/sys").join(name.replace('.', "/"));
    let text = fs::read_to_string(path).ok()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The model of the first CPU.
pub fn cpu_model() -> Option<String> {
    procfs::CpuInfo::current().ok()?.model_name(0).map(str::to_owned)
}

/// Those of [`SYSCTLS`] that this kernel has and shows.
pub fn sysctls() -> BTreeMap<String, String> {
    SYSCTLS.iter().filter_map(|&name| Some((name.to_owned(), sysctl(name)?))).collect()
}
