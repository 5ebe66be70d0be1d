//! What the checks look at, read from this machine.

use std::path::Path;

use procfs::{Current, CurrentSI};
use records::Bytes;
use trial::host;

/// This machine, as far as trials care. `None`: the kernel does not say.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// CPUs this process may run on.
    pub(super) allowed_cpus: Option<usize>,
    /// `uname -r`.
    pub(super) kernel: Option<String>,
    /// `net.ipv4.tcp_rmem`: least, first and most bytes.
    pub(super) tcp_rmem: Option<String>,
    /// `net.core.rmem_max`.
    pub(super) rmem_max: Option<Bytes>,
    /// `net.core.somaxconn`.
    pub(super) somaxconn: Option<u64>,
    /// Load average of one minute.
    pub(super) load_average: Option<f32>,
    /// CPU time withheld by the hypervisor since boot, as a share of all CPU time.
    pub(super) stolen_share: Option<f64>,
    /// Whether we are root.
    pub(super) root: bool,
    /// Whether the kernel describes its structures (BTF).
    pub(super) btf: bool,
}

impl Facts {
    pub(super) fn read() -> Self {
        let number = |name| host::sysctl(name).and_then(|text| text.parse().ok());
        Self {
            allowed_cpus: net::cpu::allowed().ok().map(|cpus| cpus.len()),
            kernel: host::kernel(),
            tcp_rmem: host::sysctl("net.ipv4.tcp_rmem"),
            rmem_max: host::rmem_max(),
            somaxconn: number("net.core.somaxconn"),
            load_average: procfs::LoadAverage::current().ok().map(|load| load.one),
            stolen_share: stolen_share(),
            root: rustix::process::geteuid().is_root(),
            btf: Path::new("/sys/kernel/btf/vmlinux").exists(),
        }
    }
}

fn stolen_share() -> Option<f64> {
    let total = procfs::KernelStats::current().ok()?.total;
    let stolen = total.steal?;
    // guest and guest_nice are in user and nice already: proc(5).
    let all = total.user
        + total.nice
        + total.system
        + total.idle
        + total.iowait.unwrap_or(0)
        + total.irq.unwrap_or(0)
        + total.softirq.unwrap_or(0)
        + stolen;
    (all > 0).then(|| stolen as f64 / all as f64)
}
