//! Other processes, as the kernel tells of them: who descends from whom, who has ended.

use std::fs;
use std::os::fd::AsFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::wait::{left, soon};

/// Every process of this host, in the order of their ids.
pub fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("procfs").map_while(Result::ok);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The state of a process, a letter of proc(5); `None`: it has ended and was reaped.
pub(crate) fn state(pid: u32) -> Option<char> {
    stat(pid).map(|(state, _)| state)
}

/// Whether a process has ended, reaped or not.
pub fn is_gone(pid: u32) -> bool {
    matches!(state(pid), None | Some('Z' | 'X'))
}

/// State and parent of a process.
fn stat(pid: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // proc(5): they stand after the name, which is in brackets and may hold any letter.
    let mut words = stat.rsplit(')').next()?.split_whitespace();
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

/// Every process that descends from `root`: parents before their children, siblings by their ids.
pub fn family(root: u32) -> Vec<u32> {
    let mut others: Vec<(u32, u32)> = pids().filter_map(|pid| Some((pid, stat(pid)?.1))).collect();
    let mut family = vec![root];
    let mut next = 0;
    while let Some(parent) = family.get(next).copied() {
        // Who was found is not looked for again: the table may have changed under our eyes.
        family.extend(others.extract_if(.., |(_, of)| *of == parent).map(|(pid, _)| pid));
        next += 1;
    }
    family.split_off(1)
}

/// Waits until all of these have ended, reaped or not.
#[track_caller]
pub fn await_gone(pids: impl IntoIterator<Item = u32>) {
    let deadline = soon();
    for pid in pids {
        let process = match pidfd_open(raw(pid), PidfdFlags::empty()) {
            Ok(process) => process,
            Err(Errno::SRCH) => continue,
            Err(error) => panic!("failed to look at process {pid}: {error}"),
        };
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = line.replace('\0', " ");
        assert!(ends_by(&process, deadline), "waited in vain for the end of {pid}: {line}");
    }
}

/// Waits for the end of a process; whether it came in time. It is not reaped.
pub(crate) fn ends_by(process: impl AsFd, deadline: Instant) -> bool {
    let ended = retry_on_intr(|| {
        let left = Timespec::try_from(left(deadline)).expect("a short time");
        poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&left))
    });
    ended.expect("a process can be polled") == 1
}

/// Open descriptors of a process that runs.
pub fn open_files(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).expect("a process of ours").count()
}

/// Sends a signal to a process or a thread.
#[track_caller]
pub fn kill(pid: u32, signal: Signal) {
    if let Err(error) = kill_process(raw(pid), signal) {
        panic!("failed to send {signal:?} to {pid}: {error}");
    }
}

fn raw(pid: u32) -> Pid {
    i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process id")
}
