//! Why the proxy cannot start or go on, and who can mend it.

use std::io;

use net::role::Failure;
use records::ToggleError;

use crate::run::STOPPED_WITHIN;

/// Why the proxy could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// Its toggles.
    #[error("{0}")]
    Toggles(#[from] ToggleError),
    /// It could not take its place on this host: CPUs, parent, limits.
    #[error("failed to set up the process: {0}")]
    Process(#[source] io::Error),
    /// Its port.
    #[error("failed to open a listener: {0}")]
    Listen(#[source] io::Error),
    /// More connections than descriptors.
    #[error(
        "needs {needed} open files for {sessions} sessions, the limit is {limit}: raise it with \
         `ulimit -n`, or lower --worker-connections"
    )]
    TooFewFiles {
        /// Descriptors for every session of every worker.
        needed: u64,
        /// Sessions of all workers.
        sessions: u64,
        /// The soft limit, raised as far as allowed.
        limit: u64,
    },
    /// Its access log.
    #[error(
        "failed to open the access log {path}: {source}: name a place that can be written with \
         --access-log"
    )]
    AccessLog {
        /// The file.
        path: String,
        /// Why not.
        source: io::Error,
    },
    /// The directory of its temporary files.
    #[error(
        "failed to make a temporary file in {dir}: {source}: name a directory that can be written \
         with --spool"
    )]
    Spool {
        /// The directory.
        dir: String,
        /// Why not.
        source: io::Error,
    },
    /// A worker could not start or gave up.
    #[error("failed to run worker {worker}: {source}")]
    Worker {
        /// Which one.
        worker: u32,
        /// Why not.
        source: io::Error,
    },
    /// Workers that did not end when told to.
    #[error(
        "failed to end {workers} of its workers within {} s: they wait in a system call, for a disk \
         or for a log that nobody reads; their open sessions and their last totals are lost",
        STOPPED_WITHIN.as_secs()
    )]
    Stuck {
        /// How many.
        workers: usize,
    },
    /// Its records could not be written.
    #[error("failed to write records: {0}")]
    Records(#[source] io::Error),
}

impl ProxyError {
    /// Who can mend it.
    pub fn failure(&self) -> Failure {
        match self {
            Self::Toggles(_) => Failure::Usage,
            _ => Failure::Trouble,
        }
    }
}
