//! One look at one thread: what it does now, by what the kernel shows to this user.

use std::fs::File;
use std::os::fd::AsFd;

use rustix::io::pread;

use crate::calls::is_poll;
use crate::error::ProbeError;
use crate::tracer::Target;

/// What a thread was found doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Asleep in its poll.
    Polling,
    /// Running, or ready to.
    Ready,
    /// Asleep elsewhere.
    Blocked,
}

/// CPU time and time without one, in ns (the first two fields of `schedstat`,
/// Documentation/scheduler/sched-stats.rst).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) ran: u64,
    pub(crate) waited: u64,
}

/// A thread that is looked at, with the files it is looked at through.
#[derive(Debug)]
pub(crate) struct Watched {
    /// `syscall`: the call it sleeps in. For its parents and root (PTRACE_MODE_ATTACH).
    syscall: Option<File>,
    /// `wchan`: the kernel's function it sleeps in. For its user (PTRACE_MODE_READ).
    wchan: Option<File>,
    /// `stat`: asleep or not. For everybody.
    stat: File,
    schedstat: Option<File>,
}

impl Watched {
    /// Opens what is to be read of `target`.
    ///
    /// # Errors
    /// It has ended.
    pub(crate) fn open(target: &Target) -> Result<Self, ProbeError> {
        let path = |file: &str| format!("/proc/{}/task/{}/{file}", target.pid, target.tid);
        let stat = path("stat");
        Ok(Self {
            syscall: File::open(path("syscall")).ok(),
            wchan: File::open(path("wchan")).ok(),
            stat: File::open(&stat).map_err(|source| ProbeError::Proc { path: stat, source })?,
            schedstat: File::open(path("schedstat")).ok(),
        })
    }

    /// What it does now; `None`: it has ended. The most telling file that can be read decides.
    pub(crate) fn look(&mut self) -> Option<Doing> {
        let mut buffer = [0; 512];
        if let Some(doing) = read(self.syscall.as_ref(), &mut buffer).and_then(by_syscall) {
            return Some(doing);
        }
        // It may be read by nobody who may not read it now: do not ask a thousand times a second.
        self.syscall = None;
        if let Some(doing) = read(self.wchan.as_ref(), &mut buffer).and_then(by_wchan) {
            return Some(doing);
        }
        read(Some(&self.stat), &mut buffer).and_then(by_stat)
    }

    /// CPU time and waits so far; a running thread's are as of its last tick.
    pub(crate) fn times(&self) -> Times {
        let mut buffer = [0; 96];
        read(self.schedstat.as_ref(), &mut buffer).and_then(parse_times).unwrap_or_default()
    }
}

fn read<'a>(file: Option<&File>, buffer: &'a mut [u8]) -> Option<&'a str> {
    let got = pread(file?.as_fd(), &mut *buffer, 0).ok()?;
    std::str::from_utf8(buffer.get(..got)?).ok().filter(|text| !text.is_empty())
}

/// proc_pid_syscall(5): `running`, `-1 sp pc` outside of a call, or the call's number and arguments.
fn by_syscall(text: &str) -> Option<Doing> {
    let first = text.split_ascii_whitespace().next()?;
    if first == "running" {
        return Some(Doing::Ready);
    }
    let number: i64 = first.parse().ok()?;
    Some(if is_poll(number) { Doing::Polling } else { Doing::Blocked })
}

/// proc_pid_wchan(5): 0 when it does not sleep, or when this user may not know.
fn by_wchan(text: &str) -> Option<Doing> {
    // fs/eventpoll.c, fs/select.c: where epoll_wait(2), poll(2) and select(2) sleep.
    const POLLS: [&str; 4] = ["ep_poll", "do_epoll_wait", "poll_schedule_timeout", "do_sys_poll"];
    match text.trim() {
        "0" | "" => None,
        name if POLLS.iter().any(|poll| name.starts_with(poll)) => Some(Doing::Polling),
        _ => Some(Doing::Blocked),
    }
}

/// proc_pid_stat(5): the state after the name in brackets. Which sleep it is, is not shown: a sleep
/// that can be interrupted is taken for the poll, where a worker sleeps most.
fn by_stat(text: &str) -> Option<Doing> {
    match text.rsplit_once(") ")?.1.chars().next()? {
        'R' => Some(Doing::Ready),
        'S' | 'I' => Some(Doing::Polling),
        'Z' | 'X' | 'x' => None,
        _ => Some(Doing::Blocked),
    }
}

fn parse_times(text: &str) -> Option<Times> {
    let mut fields = text.split_ascii_whitespace().map(str::parse);
    Some(Times { ran: fields.next()?.ok()?, waited: fields.next()?.ok()? })
}

#[cfg(test)]
mod tests;
