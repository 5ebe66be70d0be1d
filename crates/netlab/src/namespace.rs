//! A network namespace of ours, with settings of its own.
//!
//! A thread moves into a new namespace, makes its settings, opens it and ends. The open file alone
//! keeps the namespace from then on (`network_namespaces(7)`): however this process ends, the kernel
//! closes the file, and the namespace ends with the last process inside.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::thread;

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};

use crate::error::LabError;
use crate::plan::sysctl_path;
use crate::{NetId, Sysctl};

/// A namespace that lives at least as long as this.
#[derive(Debug)]
pub(crate) struct Namespace {
    file: File,
    id: NetId,
}

impl Namespace {
    /// Makes one for `host`. It waits for the kernel to have cleaned up after others.
    pub(crate) fn new(host: &str, sysctls: &[Sysctl]) -> Result<Self, LabError> {
        let failed = |source| LabError::Namespace { host: host.to_owned(), source };
        thread::scope(|scope| {
            // unshare(2) moves the thread that calls it, and no other.
            let made = thread::Builder::new().name("netns".into()).spawn_scoped(scope, || {
                let namespace = Self::of_this_thread(failed)?;
                sysctls.iter().try_for_each(|sysctl| set(host, sysctl))?;
                Ok(namespace)
            });
            let panicked = |_| Err(failed(io::Error::other("the thread inside panicked")));
            made.map_err(failed)?.join().unwrap_or_else(panicked)
        })
    }

    fn of_this_thread(failed: impl Fn(io::Error) -> LabError) -> Result<Self, LabError> {
        let outside = NetId::current().map_err(&failed)?;
        unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| match errno {
            Errno::EPERM => LabError::NotAllowed,
            other => failed(other.into()),
        })?;
        let file = File::open("/proc/thread-self/ns/net").map_err(&failed)?;
        let id = NetId::of_file(&file).map_err(&failed)?;
        // All that is inside will be ended one day: be sure that it is not the host itself.
        if id == outside {
            return Err(failed(io::Error::other("the kernel left the thread where it was")));
        }
        Ok(Self { file, id })
    }

    /// Which one it is.
    pub(crate) const fn id(&self) -> NetId {
        self.id
    }

    /// The file by which other processes and threads enter it, as long as this lives.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()))
    }
}

/// Makes a setting in the namespace of the calling thread.
fn set(host: &str, sysctl: &Sysctl) -> Result<(), LabError> {
    let path = sysctl_path(sysctl.name());
    // Opened to write, never created: procfs has no files of ours.
    let open = || fs::OpenOptions::new().write(true).open(&path);
    open().and_then(|mut file| io::Write::write_all(&mut file, sysctl.value().as_bytes())).map_err(
        |error| {
            let why = if path.exists() {
                error.to_string()
            } else {
                format!(
                    "{error}: this kernel does not have it, or has one for the whole machine and \
                     none for a namespace"
                )
            };
            LabError::Sysctl { host: host.to_owned(), sysctl: sysctl.to_string(), why }
        },
    )
}
