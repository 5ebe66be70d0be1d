//! `turnstile who`: which connection holds a worker of a live server, and who waits for it.
//!
//! - `processes`, [`Chosen`]: who is watched
//! - `queues`: their accept queues
//! - `ledger`, with `holder` and `convoy`: what is known of them; pure
//! - `words`, `picture`, `metrics`: the same for people, a terminal, a scraper; pure
//! - `capture`: holds kept as runs
//! - `scrape`: the door for scrapers
//! - [`run`], `front`: the loop, and where it is seen, by programs as lines of JSON
//!
//! Not for: looking into threads; that is the probe's.
//!
//! Invariants:
//! - Nothing in the watched processes is changed.
//! - It ends when it is told to, when its time is over, or with the last of them, and says so.

mod capture;
mod convoy;
mod front;
mod holder;
mod ledger;
mod metrics;
mod picture;
mod processes;
mod queues;
mod run;
mod scrape;
#[cfg(test)]
mod tests;
mod words;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use probe::ProbeError;
use records::Micros;

use report::Style;

pub use processes::Chosen;
pub use run::run;

/// A watch to be: every option checked.
#[derive(Debug)]
pub struct WhoPlan {
    /// Who is watched.
    pub chosen: Chosen,
    /// A turn of this length or longer is a hold.
    pub threshold: Micros,
    /// For how long; absent: until it is told to end.
    pub length: Option<Micros>,
    /// Where it is shown.
    pub place: Place,
    /// Whether addresses may be shown.
    pub addresses: Addresses,
    /// Where scrapers are answered.
    pub metrics: Option<SocketAddr>,
    /// From which length on a hold is kept as a run, and where; absent: none is.
    pub capture: Option<(Micros, PathBuf)>,
    /// Whether what is shown has colour.
    pub style: Style,
}

/// Where a watch is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On a terminal, as a picture.
    Terminal,
    /// In lines of words.
    Lines,
    /// In lines of JSON.
    Json,
}

/// How addresses are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// As they are.
    Shown,
    /// Hosts as numbers.
    Hidden,
}

/// Why nobody can be watched, or not any more.
#[derive(Debug, thiserror::Error)]
pub enum WhoError {
    /// A process that was named by its id.
    #[error("failed to watch process {0}: there is none of this id")]
    NoProcess(u32),
    /// Processes that were named by their name.
    #[error(
        "failed to find a process of the name {0}: none is called so in /proc/PID/comm, which has 15 \
         letters at most"
    )]
    NoName(String),
    /// A port on which nobody listens.
    #[error("failed to find who listens on port {0}: nobody does in this network namespace")]
    NoListener(u16),
    /// Whoever listens there is another user's.
    #[error(
        "failed to find who listens on port {0}: somebody does, but may not be seen: run this as root, or \
         name the process by --pid"
    )]
    HiddenListener(u16),
    /// The table of processes.
    #[error("failed to read /proc: {0}")]
    Proc(String),
    /// The table of listeners.
    #[error("failed to ask the kernel for listeners")]
    Queues(#[source] io::Error),
    /// The probe, which says itself what it failed to do.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// The probe lacks rights: in a container they are given from outside.
    #[error(
        "failed to watch (in a container that takes `docker run --pid=host --cap-add=BPF \
         --cap-add=PERFMON --cap-add=SYS_PTRACE`)"
    )]
    NoRights(#[source] ProbeError),
    /// The door for scrapers.
    #[error("failed to listen on {addr} for --metrics")]
    Metrics {
        /// Where.
        addr: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// This process could not be set up: signals, the terminal.
    #[error("failed to set up the watch")]
    SetUp(#[source] io::Error),
}
