//! What `/proc` tells of a process: its sockets, its epolls, who listens, which threads are out of their
//! poll. What may not be seen is none.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use procfs::net::{TcpNetEntry, TcpState};
use procfs::process::{FDTarget, Process};

use crate::calls::{Class, class_of};

fn open(pid: u32) -> Option<Process> {
    Process::new(i32::try_from(pid).ok()?).ok()
}

/// Open descriptors of a process, and what they are of.
pub fn descriptors(pid: u32) -> impl Iterator<Item = (i32, FDTarget)> {
    let fds = open(pid).and_then(|process| process.fd().ok());
    fds.into_iter().flatten().flatten().map(|fd| (fd.fd, fd.target))
}

/// Inodes of the sockets that a process has open.
pub fn open_sockets(pid: u32) -> impl Iterator<Item = u64> {
    descriptors(pid).filter_map(|(_, target)| match target {
        FDTarget::Socket(inode) => Some(inode),
        _ => None,
    })
}

/// TCP sockets that listen in the network namespace of a process, whose ever they are
/// (proc_pid_net(5): the length of an accept queue is that of the receive queue).
pub fn listeners(pid: u32) -> Vec<TcpNetEntry> {
    let tables = open(pid).map(|process| [process.tcp(), process.tcp6()]);
    let rows = tables.into_iter().flatten().flatten().flatten();
    rows.filter(|row| row.state == TcpState::Listen).collect()
}

/// Ports on which a process listens.
pub(crate) fn listening_ports(pid: u32) -> BTreeSet<u16> {
    let open: BTreeSet<u64> = open_sockets(pid).collect();
    let own = listeners(pid).into_iter().filter(|row| open.contains(&row.inode));
    own.map(|row| row.local_address.port()).collect()
}

/// Epoll descriptors of a process.
pub fn epolls(pid: u32) -> impl Iterator<Item = i32> {
    let is_epoll =
        |target: &FDTarget| matches!(target, FDTarget::AnonInode(kind) if kind == "[eventpoll]");
    descriptors(pid).filter(move |(_, target)| is_epoll(target)).map(|(fd, _)| fd)
}

/// Inodes of what an epoll of a process watches (`tfd:` lines of proc_pid_fdinfo(5)).
pub fn watched(pid: u32, epoll: i32) -> Vec<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/fdinfo/{epoll}")).unwrap_or_default();
    text.lines().filter_map(inode_of).collect()
}

/// Inodes of all that the epolls of a process watch.
pub fn polled(pid: u32) -> BTreeSet<u64> {
    epolls(pid).flat_map(|epoll| watched(pid, epoll)).collect()
}

/// The inode in one line: `tfd: 6 events: 10000019 data: 0 pos:0 ino:2b1f sdev:9`.
fn inode_of(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("tfd:")?;
    let inode = rest.split_whitespace().find_map(|word| word.strip_prefix("ino:"))?;
    u64::from_str_radix(inode, 16).ok()
}

/// Threads of a process, by id.
pub(crate) fn threads(pid: u32) -> impl Iterator<Item = u32> {
    let tasks = open(pid).and_then(|process| process.tasks().ok());
    tasks.into_iter().flatten().flatten().filter_map(|task| u32::try_from(task.tid).ok())
}

/// The name of a thread; empty: it has ended.
pub(crate) fn comm(pid: u32, tid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

/// Loops of a process that are out of their poll now, each with the call in which it sleeps, if it does.
///
/// A loop waits in its epoll, so one that is out of it leaves an epoll upon which nobody waits. Whose that
/// is, the kernel does not tell. It is taken for the main thread's, where that neither polls nor waits for
/// another thread: Node, Redis, nginx and Python run their loop there. Else it must be one of as many
/// threads as there are such epolls; of more, any may be a helper that works, and nobody is named.
pub(crate) fn out_of_poll(pid: u32) -> BTreeMap<u32, Option<u32>> {
    let mut unattended: BTreeSet<i32> = epolls(pid).collect();
    let mut away = BTreeMap::new();
    if unattended.is_empty() {
        return away;
    }
    for tid in threads(pid) {
        match wait(pid, tid) {
            None | Some(Wait::Poll | Wait::Futex | Wait::Accept) => {}
            Some(Wait::Epoll(fd)) => drop(unattended.remove(&fd)),
            Some(Wait::Running) => drop(away.insert(tid, None)),
            Some(Wait::Call(call)) => drop(away.insert(tid, Some(call))),
        }
    }
    if unattended.is_empty() {
        away.clear();
    } else if away.contains_key(&pid) {
        away.retain(|tid, _| *tid == pid);
    } else if away.len() > unattended.len() {
        away.clear();
    }
    away
}

/// What a thread is waiting in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// `epoll_wait` and its like, on that descriptor.
    Epoll(i32),
    /// `poll` or `select`.
    Poll,
    /// `futex`: another thread will wake it.
    Futex,
    /// `accept`: the next connection will.
    Accept,
    /// Nothing: it runs, or is about to.
    Running,
    /// Another call, by its number; of -1, no call, a page is being fetched.
    Call(u32),
}

impl Wait {
    pub(crate) fn is_poll(self) -> bool {
        matches!(self, Self::Epoll(_) | Self::Poll)
    }
}

/// What a thread waits in; `None`: that may not be seen. It takes the right to trace the thread: root, or
/// its parent.
pub fn wait(pid: u32, tid: u32) -> Option<Wait> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?;
    Some(wait_of(&text))
}

pub(crate) fn wait_of(text: &str) -> Wait {
    let Some((call, first)) = in_call(text) else { return Wait::Running };
    match class_of(call) {
        Some(Class::Epoll) => Wait::Epoll(first),
        Some(Class::Poll) => Wait::Poll,
        Some(Class::Futex) => Wait::Futex,
        Some(Class::Accept) => Wait::Accept,
        _ => Wait::Call(u32::try_from(call).unwrap_or(u32::MAX)),
    }
}

/// The call in which a thread sleeps, and its first argument (proc_pid_syscall(5)); `None`: it runs.
fn in_call(text: &str) -> Option<(i64, i32)> {
    let mut words = text.split_ascii_whitespace();
    let call = words.next()?.parse().ok()?;
    let first =
        words.next().and_then(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok());
    Some((call, first.and_then(|first| i32::try_from(first).ok()).unwrap_or(-1)))
}

#[cfg(test)]
mod tests;
