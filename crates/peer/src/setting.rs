//! All that a configuration is made of, and what it is made into.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use net::cpu::CpuList;
use records::Arm;

use crate::build::Build;

/// What a driver makes a configuration of. Paths are absolute and hold nothing that would need to
/// be quoted ([`plain_path`]).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting<'a> {
    pub(crate) arm: &'a Arm,
    pub(crate) build: &'a Build,
    pub(crate) listen: SocketAddr,
    pub(crate) upstream: SocketAddr,
    /// Holds the configuration and all that the program writes.
    pub(crate) dir: &'a Path,
    pub(crate) access_log: &'a Path,
    pub(crate) pin: Option<&'a CpuList>,
    pub(crate) user: User,
    /// Soft limit of open descriptors, which the program inherits.
    pub(crate) open_files: u64,
}

/// As whom we run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// The program would change its user unless told not to.
    Root,
    /// It stays what it is.
    Other,
}

impl User {
    pub(crate) fn current() -> Self {
        if rustix::process::geteuid().is_root() { Self::Root } else { Self::Other }
    }
}

impl Setting<'_> {
    /// Where local content lies, below which paths are as clients ask for them.
    pub(crate) fn www(&self) -> PathBuf {
        self.dir.join(WWW)
    }

    /// Sessions that a worker may hold: as many as the mirror's, if there are descriptors for them,
    /// two each.
    pub(crate) fn worker_sessions(&self) -> u64 {
        const MIRROR: u64 = 4096;
        const OF_THE_PROCESS: u64 = 256;
        let workers = u64::from(self.arm.workers).max(1);
        let fitting = self.open_files.saturating_sub(OF_THE_PROCESS) / 2 / workers;
        fitting.clamp(16, MIRROR)
    }

    /// A file of the program's own.
    pub(crate) fn file(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }
}

/// The directory of local content.
pub(crate) const WWW: &str = "www";

/// A file of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigFile {
    /// Its name within the directory.
    pub(crate) name: &'static str,
    pub(crate) text: String,
}

/// How the program is started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Invocation {
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(&'static str, String)>,
}

/// The absolute form of `path`, if no configuration language gives any of its characters a meaning.
///
/// # Errors
/// It has such a character, or there is no current directory.
pub fn plain_path(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let plain = |c: char| c.is_alphanumeric() || "/._-+=@:,~".contains(c);
    if path.to_str().is_some_and(|text| text.chars().all(plain)) {
        Ok(path)
    } else {
        let what = "has a character that configurations give a meaning to: choose a directory \
                    whose path is made of letters, digits and ._-+=@:,~";
        Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{} {what}", path.display())))
    }
}
