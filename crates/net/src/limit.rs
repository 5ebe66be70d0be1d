//! Open descriptors: `RLIMIT_NOFILE`.

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
