//! What the checks look at, read from this machine.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use procfs::{Current, CurrentSI};
use rustix::process::{Resource, getrlimit};

use crate::trial::host;

/// This machine, as far as trials care. `None`: the kernel does not say.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// CPUs this process may run on.
    pub(super) allowed_cpus: Option<usize>,
    /// `uname -r`.
    pub(super) kernel: Option<String>,
    /// `net.ipv4.tcp_rmem`: least, first and most bytes.
    pub(super) tcp_rmem: Option<String>,
    /// The same of `net.ipv4.tcp_wmem`.
    pub(super) tcp_wmem: Option<String>,
    /// `net.core.rmem_max`.
    pub(super) rmem_max: Option<u64>,
    /// `net.core.wmem_max`.
    pub(super) wmem_max: Option<u64>,
    /// `net.core.somaxconn`.
    pub(super) somaxconn: Option<u64>,
    /// Soft limit of open files.
    pub(super) files_soft: u64,
    /// Hard limit of open files.
    pub(super) files_hard: u64,
    /// Whether `/proc/self/schedstat` counts.
    pub(super) schedstat: bool,
    /// Load average of one minute.
    pub(super) load_average: Option<f32>,
    /// CPU time withheld by the hypervisor since boot, as a share of all CPU time.
    pub(super) stolen_share: Option<f64>,
    /// A byte over 127.0.0.1, on a port of the kernel's choice.
    pub(super) loopback: Result<(), String>,
    /// Where run directories would be made.
    pub(super) runs_dir: PathBuf,
    /// A file there, made and removed.
    pub(super) runs_dir_writable: Result<(), String>,
    /// Whether we are root.
    pub(super) root: bool,
    /// Whether there is a `bpftrace` in PATH.
    pub(super) bpftrace: bool,
}

impl Facts {
    pub(super) fn read(runs_dir: &Path) -> Self {
        let files = getrlimit(Resource::Nofile);
        let number = |name| host::sysctl(name).and_then(|text| text.parse().ok());
        Self {
            allowed_cpus: net::cpu::allowed().ok().map(|cpus| cpus.len()),
            kernel: host::kernel(),
            tcp_rmem: host::sysctl("net.ipv4.tcp_rmem"),
            tcp_wmem: host::sysctl("net.ipv4.tcp_wmem"),
            rmem_max: number("net.core.rmem_max"),
            wmem_max: number("net.core.wmem_max"),
            somaxconn: number("net.core.somaxconn"),
            files_soft: files.current.unwrap_or(u64::MAX),
            files_hard: files.maximum.unwrap_or(u64::MAX),
            schedstat: fs::read_to_string("/proc/thread-self/schedstat").is_ok(),
            load_average: procfs::LoadAverage::current().ok().map(|load| load.one),
            stolen_share: stolen_share(),
            loopback: loopback().map_err(|e| e.to_string()),
            runs_dir: runs_dir.to_owned(),
            runs_dir_writable: writable(runs_dir).map_err(|e| e.to_string()),
            root: rustix::process::geteuid().is_root(),
            bpftrace: in_path("bpftrace"),
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

fn loopback() -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let patience = Duration::from_secs(2);
    let mut client = TcpStream::connect_timeout(&listener.local_addr()?, patience)?;
    let (mut server, _) = listener.accept()?;
    server.set_read_timeout(Some(patience))?;
    client.write_all(b"x")?;
    server.read_exact(&mut [0])
}

/// Tries the nearest directory above that is there: the rest would be made.
fn writable(runs_dir: &Path) -> io::Result<()> {
    let here = Path::new(".");
    let there = runs_dir.ancestors().find(|dir| dir.is_dir()).unwrap_or(here);
    let probe = there.join(format!(".turnstile-{}", std::process::id()));
    fs::File::create_new(&probe)?.write_all(b"x")?;
    fs::remove_file(&probe)
}

fn in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}
