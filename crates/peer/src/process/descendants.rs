//! All that came of a process, whatever group or session it put itself into.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal, set_child_subreaper,
};

use super::ending::await_death;
use super::look::{self, Stat};

/// How long those that were just killed are waited for before it is looked who is left.
const WAIT: Duration = Duration::from_millis(200);

/// Makes this process the one that orphans among its descendants come to, instead of the host's first
/// process.
pub(crate) fn adopt() -> io::Result<()> {
    // Any number but 0 means yes: prctl(2), PR_SET_CHILD_SUBREAPER.
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// How often it is looked at most before what was seen last is taken for true.
const LOOKS: usize = 16;

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
    let root = ancestor.as_raw_pid();
    let alive = |pid: &i32| *pid != root && Stat::read(*pid).is_some_and(Stat::is_alive);
    look::family(root).into_iter().filter(alive).collect()
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
        let soon = WAIT.min(deadline.saturating_duration_since(Instant::now()));
        await_death(ended.iter(), soon);
    }
}

/// Kills `pid` if it does descend from `ancestor`: its number may have become another's since.
fn kill(ancestor: Pid, pid: Pid) -> Option<OwnedFd> {
    let process = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    if descends(pid, ancestor) {
        // ESRCH: it is dead already.
        let _ = pidfd_send_signal(&process, Signal::KILL);
    }
    Some(process)
}

/// Whether `pid` descends from `ancestor`, or is it.
pub(crate) fn descends(pid: Pid, ancestor: Pid) -> bool {
    let (mut pid, ancestor) = (pid.as_raw_pid(), ancestor.as_raw_pid());
    // Chains of parents are short; the bound is for a table that changes under our eyes.
    for _ in 0..64 {
        if pid == ancestor {
            return true;
        }
        match Stat::read(pid) {
            Some(stat) => pid = stat.parent,
            None => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests;
