//! Why a peer ends otherwise than by being told to.

use std::io;
use std::net::SocketAddr;

use net::role::Failure;
use tracer::TracerError;

use crate::refusal::Refusal;

/// Why a foreign proxy could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// It cannot do what was asked.
    #[error("failed to take its place: {0}")]
    Refused(#[from] Refusal),
    /// This process could not take its place on this host.
    #[error("failed to set up the process: {0}")]
    Process(#[source] io::Error),
    /// Its port.
    #[error("failed to find it a port: {0}")]
    Listen(#[source] io::Error),
    /// Its directory, configuration, content or access log.
    #[error("failed to write {what}: {source}")]
    Files {
        /// Which of them.
        what: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// It could not be started at all.
    #[error("failed to start {name}: {source}")]
    Start {
        /// The program.
        name: String,
        /// Why not.
        source: io::Error,
    },
    /// It ended by itself.
    #[error("failed to keep {name} running: {what}{}", last(words))]
    Ended {
        /// The program.
        name: String,
        /// It, or a worker of it.
        what: &'static str,
        /// What it said last.
        words: String,
    },
    /// It does not stay a child of ours.
    #[error(
        "failed to keep {name} running: it went into the background as process {pid} ({command}), \
         where nobody would see it end: give the option that keeps it in the foreground{}",
        last(words)
    )]
    Background {
        /// The program.
        name: String,
        /// What goes on without it.
        pid: i32,
        /// The command line of that.
        command: String,
        /// What it said last.
        words: String,
    },
    /// Another process than one of its accepts in its place.
    #[error(
        "failed to find {name} where it should listen: on {listen} accepts process {pid} \
         ({command}), which is none of its: it has to listen itself; take --proxy url: for one \
         that runs already"
    )]
    Stranger {
        /// The program.
        name: String,
        /// Where it should listen.
        listen: SocketAddr,
        /// Who does.
        pid: i32,
        /// The command line of that.
        command: String,
    },
    /// It runs, and does not do its work.
    #[error("failed to have {name} ready within {patience} s: {what}{}", last(words))]
    NotReady {
        /// The program.
        name: String,
        /// How long it was waited for.
        patience: u64,
        /// What is missing.
        what: String,
        /// What it said last.
        words: String,
    },
    /// No thread of it can be watched as a worker.
    #[error(
        "failed to tell steps of {name}: its threads hand work to each other, so that none of them \
         serves what its own poll returned; take --trace off"
    )]
    HandedOn {
        /// The program.
        name: String,
    },
    /// Its workers cannot be watched.
    #[error("failed to watch {name}: {source}")]
    Tracer {
        /// The program.
        name: String,
        /// Why not.
        source: TracerError,
    },
    /// Its access log cannot be read.
    #[error("failed to read the access log of {name}: {source}")]
    Log {
        /// The program.
        name: String,
        /// Why not.
        source: io::Error,
    },
    /// Some of it is left.
    #[error("failed to end {name}: {source}")]
    Stop {
        /// The program.
        name: String,
        /// What is left.
        source: io::Error,
    },
    /// Our records could not be written.
    #[error("failed to write records: {0}")]
    Records(#[source] io::Error),
}

/// What it said last, as the end of a sentence; nothing, if it said nothing.
fn last(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!("; its last words: {words}") }
}

impl PeerError {
    /// Who can mend it.
    pub fn failure(&self) -> Failure {
        match self {
            Self::Refused(_) => Failure::Usage,
            Self::Records(_) => Failure::Unheard,
            _ => Failure::Trouble,
        }
    }
}
