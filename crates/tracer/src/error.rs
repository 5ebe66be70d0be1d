//! Why workers cannot be watched.

use std::io;

use net::role::Failure;

/// Workers cannot be watched, or not any more.
#[derive(Debug, thiserror::Error)]
pub enum TracerError {
    /// Nobody to watch was named.
    #[error("no worker to watch: name a process with --pid, or a thread with --worker")]
    NoTarget,
    /// A worker that was named does not run.
    #[error("failed to watch worker {worker}: this host has no thread {tid} in process {pid}")]
    Gone {
        /// Its number.
        worker: u32,
        /// Its process.
        pid: u32,
        /// Its thread.
        tid: u32,
    },
    /// A process without a thread that polls.
    #[error(
        "failed to find the workers of process {pid}: none of its threads was seen in a poll: \
         name them with --worker"
    )]
    NoWorkers {
        /// The process.
        pid: u32,
    },
    /// Asked for bpftrace, which this host does not have or allow.
    #[error("failed to use bpftrace: {why}")]
    NoBpftrace {
        /// What is missing and how to get it.
        why: String,
    },
    /// The host's numbers of the workers cannot be learnt inside this PID namespace.
    #[error("failed to learn what the host calls the workers: {why}")]
    NoNumbers {
        /// What bpftrace said.
        why: String,
    },
    /// A program or a thread could not be started.
    #[error("failed to start {what}: {source}")]
    Start {
        /// Which.
        what: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// bpftrace ended by itself.
    #[error("failed to go on: bpftrace ended: {said}")]
    Ended {
        /// What it said last.
        said: String,
    },
    /// bpftrace started and saw nothing.
    #[error(
        "failed to see any event within {seconds} s: in a container, run with the process ids of \
         the host (as docker run --pid=host --privileged)"
    )]
    Blind {
        /// How long it was waited for.
        seconds: u64,
    },
    /// This kernel keeps a call's arguments where they are not looked for.
    #[error(
        "failed to read the arguments of system calls: this kernel keeps them elsewhere; watch \
         with --trace sample"
    )]
    Registers,
    /// `/proc` could not be read.
    #[error("failed to read {path}: {source}")]
    Proc {
        /// The file.
        path: String,
        /// Why not.
        source: io::Error,
    },
    /// This process could not be set up: CPUs, signals, its parent.
    #[error("failed to set up the process: {0}")]
    Process(#[source] io::Error),
    /// Records could not be written.
    #[error("failed to write records: {0}")]
    Records(#[source] io::Error),
}

impl TracerError {
    /// Who can mend it.
    pub fn failure(&self) -> Failure {
        match self {
            Self::NoTarget => Failure::Usage,
            Self::Records(error) if error.kind() == io::ErrorKind::BrokenPipe => Failure::Unheard,
            _ => Failure::Trouble,
        }
    }
}
