//! Processes that are still inside a namespace when its lab ends, such as a worker whose master was
//! killed: they alone would keep it.

use std::fs::{self, File};
use std::io;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::NetId;
use crate::pidfd::Pidfd;

/// A process that was still inside when its lab ended, and was ended with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stray {
    /// Its process id.
    pub pid: u32,
    /// Its name, as the kernel keeps it: 15 bytes.
    pub command: String,
}

/// Ends every process whose main thread is in the namespace `net`, but for this one, until none is
/// left or the time is up. Returns those it ended, each once.
///
/// `net` must be a namespace that a holder of ours made (whoever is inside was put there through us),
/// and something must keep it.
pub(crate) fn end_all(net: NetId, deadline: Instant) -> Vec<Stray> {
    let mut ended: Vec<Stray> = Vec::new();
    // One that is ended may just have started another: look again until there is none.
    loop {
        let inside: Vec<_> = inside(net).collect();
        if inside.is_empty() || Instant::now() >= deadline {
            return ended;
        }
        for (stray, process) in inside {
            if process.kill().is_ok() {
                process.wait(deadline);
                if !ended.contains(&stray) {
                    ended.push(stray);
                }
            }
        }
    }
}

/// [`end_all`] for a namespace that this process is not in: the open file keeps its number from being
/// given to another one meanwhile. Nobody is ended if it is the namespace we are in.
pub(crate) fn end_all_in(net: &File, deadline: Instant) -> Vec<Stray> {
    match (NetId::of_file(net), NetId::current()) {
        (Ok(net), Ok(current)) if net != current => end_all(net, deadline),
        _ => Vec::new(),
    }
}

/// The processes inside, but for this one. The handle is taken before the namespace is looked at, so
/// that both are of the same process.
fn inside(net: NetId) -> impl Iterator<Item = (Stray, Pidfd)> {
    let own = std::process::id();
    pids().filter(move |&pid| pid != own).filter_map(move |pid| {
        // Cheap and mostly decisive: a handle costs more than a look.
        if NetId::of_process(pid).ok()? != net {
            return None;
        }
        let process = Pidfd::open(pid).ok()?;
        (NetId::of_process(pid).ok()? == net)
            .then(|| (Stray { pid, command: name(pid).unwrap_or_default() }, process))
    })
}

fn name(pid: u32) -> io::Result<String> {
    fs::read_to_string(format!("/proc/{pid}/comm")).map(|name| name.trim_end().to_owned())
}

/// Every process that this one can see.
pub(crate) fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
