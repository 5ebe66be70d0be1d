//! Open descriptors: `RLIMIT_NOFILE`, and what it looks like when this host has run out.

use std::io;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit of open descriptors to the hard one and tells what it is now.
///
/// A refusal leaves the limit as it was; the caller compares with what it needs.
pub fn raise_open_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let _ =
            setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
    // None is RLIM_INFINITY.
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Whether `error` says that this host has no descriptor or memory left for a socket: it comes back
/// at once, for every socket, until something is closed (accept(2), socket(2)).
pub fn is_shortage(error: &io::Error) -> bool {
    [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM]
        .into_iter()
        .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
