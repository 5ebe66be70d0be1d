//! This host: what it must have for a test, a word for people where it has not, commands that a test makes up;
//! and other processes, as the kernel tells of them.

use std::env;
use std::fmt::Display;
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::wait::{left, soon};

/// Where servers and tools for root are, which a user's `PATH` may lack.
const SBIN: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// What `.ci/run` does not install: tests that need one of these are skipped in CI too.
const NOT_IN_CI: [&str; 3] = ["apache2", "caddy", "h2o"];

/// Tells people something on standard error, also when the test passes.
pub fn note(text: &str) {
    // Not by eprintln: the test harness would keep it for itself. Nobody may be listening.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Tells people why this test, or a part of it, is skipped.
pub fn skip(why: impl Display) {
    // Tests run on threads that bear their names.
    let thread = thread::current();
    note(&format!("skipped: {}: {why}", thread.name().unwrap_or("a test")));
}

/// Where a program is installed; `None`, and a word why the test is skipped, if it is not.
///
/// In CI (`CI=true` in the environment) a test that is skipped for want of a program fails instead:
/// nobody reads there what is skipped.
#[track_caller]
pub fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut files =
        env::split_paths(&path).chain(SBIN.map(PathBuf::from)).map(|dir| dir.join(name));
    let found = files.find(|file| file.is_file());
    if found.is_none() {
        let why = format!("{name} is not installed (for proxies: scripts/install-servers.sh)");
        let in_ci = env::var_os("CI").is_some_and(|ci| ci == "true");
        assert!(!in_ci || NOT_IN_CI.contains(&name), "{why}, and in CI it must be");
        skip(why);
    }
    found
}

/// Whether a program is installed; says why the test is skipped, or fails, as [`program`] does.
#[track_caller]
pub fn installed(name: &str) -> bool {
    program(name).is_some()
}

/// Whether we are root, without whom `what` cannot be; says why the test is skipped if we are not.
pub fn is_root(what: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skip(format_args!("{what} needs root"));
    }
    root
}

/// Writes `text` to the file `name` below `dir`, for anybody to run; says where it is.
pub fn script(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    fs::write(&path, text).expect("written");
    fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("executable");
    path
}

/// The same program with the same arguments, which may have so many descriptors open.
pub fn with_open_files(limit: u32, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -n {limit} && exec \"$0\" \"$@\"")]);
    shell.arg(command.get_program()).args(command.get_args());
    shell
}

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
