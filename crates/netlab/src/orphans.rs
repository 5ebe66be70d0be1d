//! Processes that are still inside a namespace when its lab ends, such as a worker whose master was
//! killed: they alone would keep it.

use std::fs;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::NetId;

/// Ends every process whose main thread is in one of these namespaces, until none is left or the time
/// is up.
///
/// They must be namespaces that we made (whoever is inside was put there through us), and something
/// must keep them.
pub(crate) fn end_all(nets: &[NetId], deadline: Instant) {
    // One that is ended may just have started another: look again until there is none.
    loop {
        let inside: Vec<_> = pids().filter_map(|pid| inside(pid, nets)).collect();
        if inside.is_empty() || Instant::now() >= deadline {
            return;
        }
        for process in inside {
            if pidfd_send_signal(&process, Signal::KILL).is_ok() {
                wait(&process, deadline);
            }
        }
    }
}

/// The process of this number, if it is inside. The handle is taken before the namespace is looked at
/// for good, so that both are of the same process.
fn inside(pid: u32, nets: &[NetId]) -> Option<OwnedFd> {
    let is_inside = || NetId::of_process(pid).is_ok_and(|net| nets.contains(&net));
    // Cheap and mostly decisive: a handle costs more than a look.
    if !is_inside() {
        return None;
    }
    let process = pidfd_open(Pid::from_raw(i32::try_from(pid).ok()?)?, PidfdFlags::empty()).ok()?;
    is_inside().then_some(process)
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

/// Every process that this one can see.
fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
