//! Processes that are still inside a namespace when its lab ends, such as a worker whose master was
//! killed: they alone would keep it.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::NetId;

/// A process that was still inside when its lab ended, and was ended with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// The host that it was on, or `switch`.
    pub host: String,
    /// Its process id.
    pub pid: u32,
    /// Its name, as the kernel keeps it: 15 bytes.
    pub command: String,
}

/// Ends every process whose main thread is in one of these namespaces, until none is left or the time
/// is up. Returns those it ended, each once.
///
/// They must be namespaces that we made (whoever is inside was put there through us), and something
/// must keep them.
pub(crate) fn end_all(nets: &[(&str, NetId)], deadline: Instant) -> Vec<Orphan> {
    let mut ended: Vec<Orphan> = Vec::new();
    // One that is ended may just have started another: look again until there is none.
    loop {
        let inside: Vec<_> = pids().filter_map(|pid| inside(pid, nets)).collect();
        if inside.is_empty() || Instant::now() >= deadline {
            return ended;
        }
        for (orphan, process) in inside {
            if pidfd_send_signal(&process, Signal::KILL).is_ok() {
                wait(&process, deadline);
                if !ended.contains(&orphan) {
                    ended.push(orphan);
                }
            }
        }
    }
}

/// The process of this number, if it is inside. The handle is taken before the namespace is looked at
/// for good, so that both are of the same process.
fn inside(pid: u32, nets: &[(&str, NetId)]) -> Option<(Orphan, OwnedFd)> {
    let host = || {
        let net = NetId::of_process(pid).ok()?;
        nets.iter().find(|(_, id)| *id == net).map(|(host, _)| (*host).to_owned())
    };
    // Cheap and mostly decisive: a handle costs more than a look.
    host()?;
    let process = pidfd_open(Pid::from_raw(i32::try_from(pid).ok()?)?, PidfdFlags::empty()).ok()?;
    let command = name(pid).unwrap_or_default();
    Some((Orphan { host: host()?, pid, command }, process))
}

/// Waits for the end of a process, but not past `deadline`.
fn wait(process: &OwnedFd, deadline: Instant) {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left.max(Duration::from_millis(1))).ok();
        match poll(&mut [PollFd::new(process, PollFlags::IN)], left.as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            _ => return,
        }
    }
}

fn name(pid: u32) -> io::Result<String> {
    fs::read_to_string(format!("/proc/{pid}/comm")).map(|name| name.trim_end().to_owned())
}

/// Every process that this one can see.
fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
