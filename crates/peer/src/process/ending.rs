//! Ending a program and whatever of it is left.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open, pidfd_send_signal,
};

use super::look;
use super::workers::Crew;
use crate::patience::{ASKED, KILLED};

/// Asks the program to end (SIGTERM), and kills what is left of its process group and workers. Its
/// first process is dead then, and not reaped.
pub(super) fn end(root: Pid, crew: &Crew) -> io::Result<()> {
    let group = members(root);
    // ESRCH: it is dead already.
    let _ = kill_process(root, Signal::TERM);
    let everybody = || group.iter().chain(&crew.processes);
    if await_death(everybody(), ASKED) {
        // Those that were started meanwhile.
        kill(root);
        return Ok(());
    }
    for process in &crew.processes {
        let _ = pidfd_send_signal(process, Signal::KILL);
    }
    kill(root);
    if await_death(everybody(), KILLED) {
        Ok(())
    } else {
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("a process of group {root:?} does not die"),
        ))
    }
}

/// Kills the process group that `root` leads, and waits until it is dead.
fn kill(root: Pid) {
    let group = members(root);
    // ESRCH: nobody is left.
    let _ = kill_process_group(root, Signal::KILL);
    await_death(group.iter(), KILLED);
}

/// Whoever is alive in the process group that `root` leads.
fn members(root: Pid) -> Vec<OwnedFd> {
    let raw = root.as_raw_pid();
    look::processes()
        .into_iter()
        .filter(|(_, stat)| stat.group == raw && stat.is_alive())
        .filter_map(|(pid, _)| pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok())
        .collect()
}

/// Whether all of them are dead within `patience`.
pub(super) fn await_death<'a>(
    processes: impl Iterator<Item = &'a OwnedFd>,
    patience: Duration,
) -> bool {
    let deadline = Instant::now() + patience;
    processes.into_iter().all(|process| {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(left.subsec_nanos()),
            };
            // pidfd_open(2): it is readable when the process has ended.
            let fd = process.as_fd();
            match poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&timeout)) {
                Ok(ready) => break ready > 0,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => break false,
            }
        }
    })
}
