//! A network namespace of ours, with settings of its own, and the end of all that is inside.
//!
//! A thread moves into a new namespace, makes its settings, opens it and ends. The open file alone
//! keeps the namespace from then on (`network_namespaces(7)`): however this process ends, the kernel
//! closes the file, and the namespace ends with the last process inside.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::thread;
use std::time::Instant;

use net::process;
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};

use crate::{LabError, sysctl_path};

/// That of the calling thread.
const OWN: &str = "/proc/thread-self/ns/net";

/// A namespace that lives at least as long as this.
#[derive(Debug)]
pub(crate) struct Namespace {
    file: File,
    inode: u64,
}

impl Namespace {
    /// Makes one for `host`. It waits for the kernel to have cleaned up after others.
    pub(crate) fn new(host: &str, sysctls: &[(String, String)]) -> Result<Self, LabError> {
        let failed = |source| LabError::on(host, "make a network namespace".to_owned())(source);
        thread::scope(|scope| {
            // unshare(2) moves the thread that calls it, and no other.
            let made = thread::Builder::new().name("netns".into()).spawn_scoped(scope, || {
                let namespace = Self::of_this_thread(failed)?;
                for (name, value) in sysctls {
                    // Opened to write, never created: procfs has no files of ours.
                    let file = fs::OpenOptions::new().write(true).open(sysctl_path(name));
                    let set = file.and_then(|mut file| file.write_all(value.as_bytes()));
                    set.map_err(LabError::on(host, format!("set \"{name}={value}\"")))?;
                }
                Ok(namespace)
            });
            let panicked = |_| Err(failed(io::Error::other("the thread inside panicked")));
            made.map_err(failed)?.join().unwrap_or_else(panicked)
        })
    }

    fn of_this_thread(failed: impl Fn(io::Error) -> LabError) -> Result<Self, LabError> {
        let outside = fs::metadata(OWN).map_err(&failed)?.ino();
        unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| match errno {
            Errno::EPERM => LabError::NotAllowed,
            other => failed(other.into()),
        })?;
        let file = File::open(OWN).map_err(&failed)?;
        let inode = file.metadata().map_err(&failed)?.ino();
        // All that is inside will be ended one day: be sure that it is not the host itself.
        if inode == outside {
            return Err(failed(io::Error::other("the kernel left the thread where it was")));
        }
        Ok(Self { file, inode })
    }

    /// Which one it is, on this host while it lives (namespaces(7)).
    pub(crate) const fn inode(&self) -> u64 {
        self.inode
    }

    /// The file by which other processes and threads enter it, as long as this lives.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()))
    }
}

/// Ends every process whose main thread is in one of these namespaces, until none is left or the time
/// is up: one that is still inside when its lab ends, such as a worker whose master was killed, would
/// keep it.
///
/// They must be namespaces that we made (whoever is inside was put there through us), and something
/// must keep them.
pub(crate) fn end_all(nets: &[u64], deadline: Instant) {
    let is_inside = |pid: i32| {
        fs::metadata(format!("/proc/{pid}/ns/net")).is_ok_and(|net| nets.contains(&net.ino()))
    };
    let inside = || process::pids().filter(|pid| is_inside(*pid)).collect();
    process::end_all(inside, is_inside, deadline);
}
