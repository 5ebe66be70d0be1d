//! The roles of a trial, and what a host must have for a test.

use std::env;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use probe::{ProbeError, Target, Watch};
use records::{Micros, Record, RunRecords};
use testkit::{Process, skip};

/// Of a hold, the least.
pub(crate) const THRESHOLD: Micros = Micros(50_000);

/// Whether the kernel can be asked; says why a test is skipped. In CI it fails instead.
pub(crate) fn can_probe() -> bool {
    match Watch::holds(&[], THRESHOLD) {
        Ok(_) => true,
        Err(
            error @ (ProbeError::NoRights { .. }
            | ProbeError::NoBtf { .. }
            | ProbeError::TooOld { .. }),
        ) => {
            assert!(env::var_os("CI").is_none(), "{error}: {error:?}");
            skip(error);
            false
        }
        Err(error) => panic!("{error}: {error:?}"),
    }
}

/// A role that is up.
pub(crate) fn role(role: &str, args: &[&str]) -> Process {
    let parent = std::process::id().to_string();
    let mut command = Command::new(roles());
    Process::start(command.arg(role).args(args).args(["--parent-pid", &parent]))
}

/// The example, beside the directory of the tests.
fn roles() -> PathBuf {
    let own = env::current_exe().expect("this program");
    let roles = own.parent().expect("in a directory").with_file_name("examples").join("roles");
    assert!(roles.is_file(), "{} is not built: cargo build -p probe --examples", roles.display());
    roles
}

/// What was told, by kind.
pub(crate) fn told(records: impl IntoIterator<Item = Record>) -> RunRecords {
    let mut told = RunRecords::default();
    records.into_iter().for_each(|record| told.add(record));
    told
}

/// A proxy before `origin`, with more arguments.
pub(crate) fn proxy(origin: &Process, args: &[&str]) -> Process {
    let upstream = origin.addr().to_string();
    role("proxy", &[&["--upstream", &upstream], args].concat())
}

/// These threads of a process, each as one worker.
pub(crate) fn workers(pid: u32, tids: impl IntoIterator<Item = u32>) -> Vec<Target> {
    (0..).zip(tids).map(|(worker, tid)| Target { worker, pid, tid }).collect()
}

/// Puts `downloads` upon `addr` for `length` and waits for their end. Each is larger than any host moves
/// in that time: a download that completes is followed by another one, which is a session more.
pub(crate) fn download(addr: SocketAddr, downloads: u32, length: Duration) {
    let (addr, downloads) = (addr.to_string(), downloads.to_string());
    let length = format!("{}ms", length.as_millis());
    let load = ["--slow", &downloads, "--slow-size", "64GiB", "--duration", &length];
    role("slow", &[&[&*addr], &load[..]].concat()).finish();
}
