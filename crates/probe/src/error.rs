//! Why processes cannot be watched.

use std::io;

use net::role::Failure;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// Processes cannot be watched, or not any more.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// Nobody to watch was named.
    #[error("no worker to watch: name it with --pid")]
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
    /// No such process, or it has ended.
    #[error("failed to watch process {pid}: there is none")]
    NoProcess {
        /// Its id.
        pid: u32,
    },
    /// The kernel does not describe its structures.
    #[error(
        "failed to watch: this kernel has no BTF: it needs CONFIG_DEBUG_INFO_BTF, and \
         /sys/kernel/btf/vmlinux"
    )]
    NoBtf {
        /// What was tried.
        source: Source,
    },
    /// This user may not load programs into the kernel.
    #[error(
        "failed to load programs into the kernel: it needs CAP_BPF and CAP_PERFMON: run it as \
         root, or once `setcap cap_bpf,cap_perfmon=ep {program}`"
    )]
    NoRights {
        /// This program's file.
        program: String,
        /// What the kernel said.
        source: Source,
    },
    /// A hook that this kernel does not have.
    #[error(
        "failed to attach to {hook}: this kernel has no such hook; it is there from {since} on"
    )]
    TooOld {
        /// The hook.
        hook: &'static str,
        /// The first version of Linux that has it.
        since: &'static str,
        /// What the kernel said.
        source: Source,
    },
    /// The kernel's verifier does not accept a program: what it cannot prove harmless, it does not run.
    #[error(
        "failed to load the program {program}: this kernel does not accept it ({reason}): please \
         report it with the output of uname -r"
    )]
    Rejected {
        /// The program.
        program: &'static str,
        /// The verifier's last word.
        reason: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The programs could not be loaded or attached, for another reason.
    #[error("failed to {what}")]
    Bpf {
        /// What was tried, as "load the probe".
        what: &'static str,
        /// What the kernel said.
        source: Source,
    },
    /// The object was built of another source than this program.
    #[error("failed to find {lacks} in the probe's object: build it with scripts/build-bpf.sh")]
    Object {
        /// What is missing.
        lacks: &'static str,
    },
    /// A thread could not be started.
    #[error("failed to start a thread")]
    Thread(#[source] io::Error),
    /// The thread that reads what is told ended by a panic.
    #[error("failed to go on: the thread that reads what is told ended")]
    Died,
    /// This process could not be set up: CPUs, signals, its parent.
    #[error("failed to set up the process")]
    Process(#[source] io::Error),
    /// Records could not be written.
    #[error("failed to write records")]
    Records(#[source] io::Error),
    /// A file under `/proc` could not be read.
    #[error("failed to read {path}")]
    Proc {
        /// The file.
        path: String,
        /// Why not.
        source: io::Error,
    },
}

impl ProbeError {
    /// Who can mend it.
    pub fn failure(&self) -> Failure {
        match self {
            Self::NoTarget => Failure::Usage,
            Self::Records(error) if error.kind() == io::ErrorKind::BrokenPipe => Failure::Unheard,
            _ => Failure::Trouble,
        }
    }
}
