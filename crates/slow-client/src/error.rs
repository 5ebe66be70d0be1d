//! Why the slow client cannot start or go on. Trouble with a connection is not among it.

use std::io;

use net::role::Failure;
use net::target::RemoteTargetError;

/// Why the slow client could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum SlowError {
    /// The target is another host, and nobody consented.
    #[error(transparent)]
    Remote(#[from] RemoteTargetError),
    /// It could not take its place on this host: CPUs, parent, signals.
    #[error("failed to set up the process: {0}")]
    Process(#[source] io::Error),
    /// More downloads than descriptors.
    #[error(
        "needs {needed} descriptors, the limit is {limit}: raise it with ulimit -n, or lower --slow"
    )]
    TooFewFiles {
        /// One for each download, and some for the process itself.
        needed: u64,
        /// The soft limit, raised as far as allowed.
        limit: u64,
    },
    /// This host refused to watch a socket.
    #[error("failed to wait for sockets: {0}")]
    Poll(#[source] io::Error),
    /// Nobody reads our records any more.
    #[error("the reader of the records has gone")]
    ReaderGone,
    /// Records could not be written.
    #[error("failed to write records: {0}")]
    Records(#[source] io::Error),
}

impl SlowError {
    /// Who can mend it.
    pub fn failure(&self) -> Failure {
        match self {
            Self::Remote(_) => Failure::Usage,
            Self::ReaderGone => Failure::Unheard,
            Self::Process(_) | Self::TooFewFiles { .. } | Self::Poll(_) | Self::Records(_) => {
                Failure::Trouble
            }
        }
    }

    /// What a failed write of a record means.
    pub(crate) fn from_print(source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::BrokenPipe {
            Self::ReaderGone
        } else {
            Self::Records(source)
        }
    }
}
