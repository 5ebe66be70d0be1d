//! Holders whose lab has gone.
//!
//! By design there is none for longer than it takes to end what was inside. One that a debugger holds,
//! or that waits for a process that cannot end, is: the next start finds it here.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::net_id::net_path;
use crate::pidfd::{Pidfd, Waited};
use crate::{Program, Stray, strays};

/// A holder of ours whose owner has gone.
#[derive(Debug)]
pub struct Leftover {
    /// Its process id.
    pub pid: u32,
    /// The host whose namespace it holds, or `switch`.
    pub host: String,
    /// The process that its lab belonged to; it has ended.
    pub owner: u32,
    process: Pidfd,
}

/// How long ending one may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long one may take to end by itself before it counts as left: its owner may be ending just now.
const GRACE: Duration = Duration::from_secs(1);

/// Every holder that plays the same program as this process, belongs to the same user, has another
/// parent than the owner it was started for, and does not end by itself within a second.
pub fn leftovers() -> Vec<Leftover> {
    let Ok(own) = Owned::of("self") else { return Vec::new() };
    let mut left: Vec<_> = strays::pids().filter_map(|pid| leftover(pid, &own)).collect();
    let deadline = Instant::now() + GRACE;
    left.retain(|holder| holder.process.wait(deadline) == Waited::StillThere);
    left
}

impl Leftover {
    /// Ends it and every process inside its namespace, and tells which those were.
    ///
    /// # Errors
    /// No right to, or it does not end: the kernel waits for something, as a dead disk.
    pub fn end(self) -> io::Result<Vec<Stray>> {
        let deadline = Instant::now() + PATIENCE;
        let net = match File::open(net_path(self.pid)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened?,
        };
        // First the holder, so that it does not end what we are about to tell of.
        self.process.kill()?;
        if self.process.wait(deadline) == Waited::StillThere {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(strays::end_all_in(&net, deadline))
    }
}

/// What shows that a process is of the same program and user as another.
#[derive(Debug)]
struct Owned {
    file: (u64, u64),
    path: PathBuf,
    uid: u32,
}

impl Owned {
    fn of(pid: &str) -> io::Result<Self> {
        let dir = Path::new("/proc").join(pid);
        let exe = dir.join("exe");
        let file = exe.metadata()?;
        let path = exe.read_link()?;
        // What the kernel adds when the file has gone, as after a new build: proc_pid_exe(5).
        let path =
            path.to_str().map_or(path.clone(), |text| text.trim_end_matches(" (deleted)").into());
        Ok(Self { file: (file.dev(), file.ino()), path, uid: dir.metadata()?.uid() })
    }

    /// The same file, or an older build at the same place.
    fn matches(&self, other: &Self) -> bool {
        self.uid == other.uid && (self.file == other.file || self.path == other.path)
    }
}

fn leftover(pid: u32, own: &Owned) -> Option<Leftover> {
    let (host, owner) = marker(&fs::read(format!("/proc/{pid}/cmdline")).ok()?)?;
    // What is read after the handle was taken is of that process, or cannot be read.
    let process = Pidfd::open(pid).ok()?;
    let again = marker(&fs::read(format!("/proc/{pid}/cmdline")).ok()?)?;
    let same = again == (host.clone(), owner) && Owned::of(&pid.to_string()).ok()?.matches(own);
    (same && parent(pid)? != owner).then_some(Leftover { pid, host, owner, process })
}

/// The host and the owner, if these are a holder's arguments.
fn marker(cmdline: &[u8]) -> Option<(String, u32)> {
    let text = std::str::from_utf8(cmdline).ok()?;
    let mut words = text.split_terminator('\0').skip(1);
    if words.next()? != Program::HOLD {
        return None;
    }
    let words: Vec<&str> = words.collect();
    let value = |name: &str| words.iter().skip_while(|word| **word != name).nth(1).copied();
    Some((value("--name")?.to_owned(), value("--owner")?.parse().ok()?))
}

fn parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests;
