//! A network namespace of ours, with settings of its own, and the end of all that is inside.
//!
//! A thread moves into a new namespace, makes its settings, opens it and ends. The open file alone
//! keeps the namespace from then on (`network_namespaces(7)`): however this process ends, the kernel
//! closes the file, and the namespace ends with the last process inside.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use net::child::ends_within;
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

use crate::Sysctl;
use crate::plan::sysctl_path;

/// The identity of a network namespace on this host while it lives: two processes share one if and
/// only if these are equal, namespaces(7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NetId {
    /// The device of the kernel's namespace files.
    pub dev: u64,
    /// The number in `net:[4026531840]`, as lsns(8) and readlink(1) tell it.
    pub ino: u64,
}

impl NetId {
    /// That of the calling thread.
    ///
    /// # Errors
    /// There is no `/proc`.
    pub fn current() -> io::Result<Self> {
        Self::of_path(Path::new("/proc/thread-self/ns/net"))
    }

    /// That of a process' main thread.
    ///
    /// # Errors
    /// The process has ended, or is none of ours.
    pub fn of_process(pid: u32) -> io::Result<Self> {
        Self::of_path(Path::new(&format!("/proc/{pid}/ns/net")))
    }

    /// That of a namespace file.
    ///
    /// # Errors
    /// There is no such file.
    pub fn of_path(path: &Path) -> io::Result<Self> {
        path.metadata().map(|file| Self::of(&file))
    }

    fn of(file: &Metadata) -> Self {
        Self { dev: file.dev(), ino: file.ino() }
    }
}

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
        let id = NetId::of(&file.metadata().map_err(&failed)?);
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
fn set(host: &str, Sysctl { name, value }: &Sysctl) -> Result<(), LabError> {
    // Opened to write, never created: procfs has no files of ours.
    let file = fs::OpenOptions::new().write(true).open(sysctl_path(name));
    file.and_then(|mut file| file.write_all(value.as_bytes())).map_err(|source| LabError::Sysctl {
        host: host.to_owned(),
        sysctl: format!("{name}={value}"),
        source,
    })
}

/// Ends every process whose main thread is in one of these namespaces, until none is left or the time
/// is up: one that is still inside when its lab ends, such as a worker whose master was killed, would
/// keep it.
///
/// They must be namespaces that we made (whoever is inside was put there through us), and something
/// must keep them.
pub(crate) fn end_all(nets: &[NetId], deadline: Instant) {
    // One that is ended may just have started another: look again until there is none.
    loop {
        let inside: Vec<_> = pids().filter_map(|pid| inside(pid, nets)).collect();
        if inside.is_empty() || Instant::now() >= deadline {
            return;
        }
        for process in inside {
            if pidfd_send_signal(&process, Signal::KILL).is_ok() {
                ends_within(&process, deadline.saturating_duration_since(Instant::now()));
            }
        }
    }
}

/// The process of this number, if it is inside. The handle is taken before the namespace is looked at
/// for good, so that both are of the same process.
fn inside(pid: u32, nets: &[NetId]) -> Option<OwnedFd> {
    let is_inside = || NetId::of_process(pid).is_ok_and(|net| nets.contains(&net));
    // Cheap and mostly decisive: a handle costs more than a look.
    if !is_inside() {
        return None;
    }
    let process = pidfd_open(Pid::from_raw(i32::try_from(pid).ok()?)?, PidfdFlags::empty()).ok()?;
    is_inside().then_some(process)
}

/// Every process that this one can see.
fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Why a lab could not be made or asked. A host is named, or `switch`.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// No right to make namespaces.
    #[error(
        "network namespaces need root (CAP_SYS_ADMIN): run this as root or with sudo, or put \
         'unshare --map-root-user' before the command where the kernel allows user namespaces"
    )]
    NotAllowed,
    /// ip(8) is not there.
    #[error("failed to find the program {0:?}: install the Debian package iproute2")]
    NoTool(&'static str),
    /// ip(8) refused.
    #[error("failed to set up the lab: '{command}' on host {host}: {said}{}", hint(.module))]
    Tool {
        /// The host it ran on.
        host: String,
        /// The command.
        command: String,
        /// What it said.
        said: String,
        /// The kernel module that it needs.
        module: Option<&'static str>,
    },
    /// The kernel made no namespace.
    #[error("failed to make a network namespace for host {host}: {source}")]
    Namespace {
        /// The host.
        host: String,
        /// What the kernel said; EINVAL: it has no network namespaces (CONFIG_NET_NS).
        source: io::Error,
    },
    /// A host refused a setting.
    #[error("failed to set {sysctl:?} on host {host}: {source}")]
    Sysctl {
        /// The host.
        host: String,
        /// The name and the value.
        sysctl: String,
        /// What the kernel said; ENOENT: it has no such setting, or one for the whole machine.
        source: io::Error,
    },
    /// No packet passed.
    #[error("failed to reach host {to} from host {from}: {source}")]
    Unreachable {
        /// Who sent.
        from: String,
        /// Who did not answer.
        to: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// A host's namespace could not be entered.
    #[error("failed to enter host {host}: {source}")]
    Enter {
        /// The host.
        host: String,
        /// What the kernel said.
        source: io::Error,
    },
}

fn hint(module: &Option<&'static str>) -> String {
    module.map_or_else(String::new, |name| format!(" (it needs the kernel module {name})"))
}
