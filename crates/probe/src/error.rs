//! Why processes cannot be watched.

use std::error::Error;
use std::io;

type Source = Box<dyn Error + Send + Sync>;

/// Processes cannot be watched, or not any more.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// Who was named does not run.
    #[error("failed to watch process {pid}: this host has no thread {tid} in it")]
    Gone {
        /// Its process.
        pid: u32,
        /// Its thread; of a process as a whole, the same number.
        tid: u32,
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
    /// Something else could not be done on this host.
    #[error("failed to {what}")]
    Host {
        /// What was tried, as "load the probe" or "read /proc/self/stat".
        what: String,
        /// Why it failed.
        source: Source,
    },
}

impl ProbeError {
    pub(crate) fn host(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        |source| Self::Host { what, source: source.into() }
    }

    /// What the kernel said no to, and what would help.
    pub(crate) fn refused<E: Error + Send + Sync + 'static>(
        what: &'static str,
    ) -> impl Fn(E) -> Self {
        move |source| {
            let first: &(dyn Error + 'static) = &source;
            let mut errors = std::iter::successors(Some(first), |&error| error.source());
            let denied = errors.any(|error| {
                let error = error.downcast_ref::<io::Error>();
                error.is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
            });
            let source = source.into();
            if denied {
                let program = std::env::current_exe().unwrap_or_default().display().to_string();
                Self::NoRights { program, source }
            } else {
                Self::Host { what: what.to_owned(), source }
            }
        }
    }
}
