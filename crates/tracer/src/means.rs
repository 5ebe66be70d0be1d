//! By which means workers can be watched on this host.

use std::path::{Path, PathBuf};

use records::TraceMode;
use rustix::process::geteuid;

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
            Some(why) => Err(TracerError::NoBpftrace { why: why.to_owned() }),
        },
    }
}

/// What stands in the way of bpftrace, the easiest to mend first.
fn obstacle() -> Option<&'static str> {
    if !cfg!(target_arch = "x86_64") {
        return Some("calls are understood on x86-64 only: watch with --trace sample");
    }
    if bpftrace().is_none() {
        return Some("it is not installed: apt-get install bpftrace");
    }
    if !geteuid().is_root() {
        return Some("it needs root: run with sudo, or watch with --trace sample");
    }
    // The structures of the kernel are read by their names in here.
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Some("this kernel has no BTF (CONFIG_DEBUG_INFO_BTF): watch with --trace sample");
    }
    // What bpftrace prints and compares are the host's numbers of processes.
    if !is_in_first_pid_namespace() {
        return Some(
            "this container numbers its processes otherwise than the host: start it with \
             --pid=host, or watch with --trace sample",
        );
    }
    for tool in ["setpriv", "unshare"] {
        if in_path(tool).is_none() {
            return Some("setpriv and unshare are not installed: apt-get install util-linux");
        }
    }
    None
}

/// Whether our numbers of processes are the host's. The first PID namespace has a number of its own
/// (PROC_PID_INIT_INO, include/linux/proc_ns.h).
fn is_in_first_pid_namespace() -> bool {
    const FIRST: &str = "pid:[4026531836]";
    std::fs::read_link("/proc/self/ns/pid").is_ok_and(|name| name.as_os_str() == FIRST)
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
