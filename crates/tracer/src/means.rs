//! By which means workers can be watched on this host.

use std::path::{Path, PathBuf};

use records::TraceMode;
use rustix::process::geteuid;

use crate::bpf::Numbers;
use crate::error::TracerError;

/// How workers are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// Every system call and switch, by bpftrace.
    Bpftrace,
    /// Samples of `/proc`.
    Sample,
}

/// What `mode` means on this host; `None`: nothing is watched.
///
/// [`TraceMode::Auto`] is bpftrace for root where it is installed and the kernel offers what it
/// needs, else samples.
///
/// # Errors
/// A means was asked for that this host does not have or allow; the message says what to install
/// or how to get the right.
pub fn means(mode: TraceMode) -> Result<Option<Means>, TracerError> {
    match mode {
        TraceMode::Off => Ok(None),
        TraceMode::Sample => Ok(Some(Means::Sample)),
        TraceMode::Auto if obstacle().is_some() => Ok(Some(Means::Sample)),
        TraceMode::Auto => Ok(Some(Means::Bpftrace)),
        TraceMode::Bpftrace => match obstacle() {
            None => Ok(Some(Means::Bpftrace)),
            Some(why) => Err(TracerError::NoBpftrace { why }),
        },
    }
}

/// What stands in the way of bpftrace, the easiest to mend first.
fn obstacle() -> Option<String> {
    if !cfg!(target_arch = "x86_64") {
        return Some("calls are understood on x86-64 only: watch with --trace sample".into());
    }
    if bpftrace().is_none() {
        return Some("it is not installed: apt-get install bpftrace".into());
    }
    if !geteuid().is_root() {
        return Some("it needs root: run with sudo, or watch with --trace sample".into());
    }
    // The structures of the kernel are read by their names in here.
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Some(
            "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF): watch with --trace sample".into(),
        );
    }
    for tool in ["setpriv", "unshare"] {
        if in_path(tool).is_none() {
            return Some(
                "setpriv and unshare are not installed: apt-get install util-linux".into(),
            );
        }
    }
    // Last, since it runs bpftrace where this is not the host's own PID namespace.
    let learnt = Numbers::learn(&[]);
    learnt.err().map(|why| {
        format!(
            "this container numbers its processes otherwise than the host, and {why}: start it \
             with --pid=host, or watch with --trace sample"
        )
    })
}

/// Where bpftrace is installed.
pub(crate) fn bpftrace() -> Option<PathBuf> {
    in_path("bpftrace")
}

fn in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests;
