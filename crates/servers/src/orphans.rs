//! All that came of a process, whatever group or session it put itself into.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal, set_child_subreaper,
};

use crate::processes::{family, stat};

/// How long those that were just killed are waited for before it is looked who is left.
const WAIT: Duration = Duration::from_millis(200);

/// How often it is looked at most before what was seen last is taken for true.
const LOOKS: usize = 16;

/// Makes this process the one that orphans among its descendants come to, instead of the host's first
/// process.
pub(crate) fn adopt() -> io::Result<()> {
    // Any number but 0 means yes: prctl(2), PR_SET_CHILD_SUBREAPER.
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Whoever is alive and descends from `ancestor`, which is not among them; the oldest first, so that
/// a master does not start another worker.
///
/// The kernel lists its processes first and tells of each afterwards: one that starts another in
/// between and ends, as daemon(3) does, would hide it. Two looks in a row that agree hide nobody who
/// was there before the first.
pub(crate) fn living(ancestor: Pid) -> Vec<i32> {
    let mut seen = one_look(ancestor);
    for _ in 1..LOOKS {
        let again = one_look(ancestor);
        if again == seen {
            break;
        }
        seen = again;
    }
    seen
}

fn one_look(ancestor: Pid) -> Vec<i32> {
    let below = family(ancestor.as_raw_pid()).into_iter().skip(1);
    below.filter(|stat| !matches!(stat.state, 'Z' | 'X')).map(|stat| stat.pid).collect()
}

/// Kills all that descend from `ancestor` until none is alive. It has to be one that orphans come to.
///
/// # Errors
/// The time is up, and some are alive.
pub(crate) fn end_all(ancestor: Pid, deadline: Instant) -> io::Result<()> {
    // One that is killed may just have started another: look again until there is none.
    loop {
        let alive = living(ancestor);
        if alive.is_empty() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let what = format!("of its processes {alive:?} do not die");
            return Err(io::Error::new(io::ErrorKind::TimedOut, what));
        }
        let ended: Vec<OwnedFd> =
            alive.into_iter().filter_map(|pid| kill(ancestor, Pid::from_raw(pid)?)).collect();
        await_end(&ended, WAIT.min(deadline.saturating_duration_since(Instant::now())));
    }
}

/// Kills `pid` if it does descend from `ancestor`: its number may have become another's since.
fn kill(ancestor: Pid, pid: Pid) -> Option<OwnedFd> {
    let process = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    if descends(pid.as_raw_pid(), ancestor) {
        // ESRCH: it is dead already.
        let _ = pidfd_send_signal(&process, Signal::KILL);
    }
    Some(process)
}

/// Whether `pid` descends from `ancestor`, or is it.
pub(crate) fn descends(mut pid: i32, ancestor: Pid) -> bool {
    // Chains of parents are short; the bound is for a table that changes under our eyes.
    for _ in 0..64 {
        if pid == ancestor.as_raw_pid() {
            return true;
        }
        match stat(pid) {
            Some(stat) => pid = stat.ppid,
            None => return false,
        }
    }
    false
}

/// Waits until all of them have ended, for that long at most.
pub(crate) fn await_end<'a>(processes: impl IntoIterator<Item = &'a OwnedFd>, at_most: Duration) {
    let deadline = Instant::now() + at_most;
    for process in processes {
        // pidfd_open(2): it is readable when the process has ended.
        let mut fds = [PollFd::new(process, PollFlags::IN)];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).ok();
            if !matches!(poll(&mut fds, left.as_ref()), Err(rustix::io::Errno::INTR)) {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests;
