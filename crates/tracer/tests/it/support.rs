//! The roles of a trial, and what a host must have for a test.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use records::TraceMode;
use testkit::{Process, installed, skip};
use tracer::{Means, means};

/// Whether bpftrace can be used; says why a test is skipped.
pub(crate) fn can_trace() -> bool {
    if !installed("bpftrace") {
        return false;
    }
    match means(TraceMode::Bpftrace) {
        Ok(found) => found == Some(Means::Bpftrace),
        Err(error) => {
            skip(error);
            false
        }
    }
}

/// A role that is up.
pub(crate) fn role(role: &str, args: &[&str]) -> Process {
    let parent = std::process::id().to_string();
    let mut command = Command::new(roles());
    Process::start(command.arg(role).args(args).args(["--parent-pid", &parent]))
}

/// The example beside the tested binary.
fn roles() -> PathBuf {
    let tracer = PathBuf::from(env!("CARGO_BIN_EXE_tracer"));
    let roles = tracer.with_file_name("examples").join("roles");
    assert!(roles.is_file(), "{} is not built: cargo build -p tracer --examples", roles.display());
    roles
}

/// A proxy before `origin`, with more arguments.
pub(crate) fn proxy(origin: &Process, args: &[&str]) -> Process {
    let upstream = origin.addr().to_string();
    role("proxy", &[&["--upstream", &upstream], args].concat())
}

/// Puts `downloads` upon `addr` for `length` and waits for their end.
pub(crate) fn download(addr: SocketAddr, downloads: u32, length: Duration) {
    let (addr, downloads) = (addr.to_string(), downloads.to_string());
    let length = format!("{}ms", length.as_millis());
    role("slow", &[&*addr, "--slow", &downloads, "--duration", &length]).finish();
}
