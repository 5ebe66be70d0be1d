//! Which network namespace is which.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

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

    pub(crate) fn of_file(file: &File) -> io::Result<Self> {
        file.metadata().map(|file| Self::of(&file))
    }

    fn of(file: &Metadata) -> Self {
        Self { dev: file.dev(), ino: file.ino() }
    }
}
