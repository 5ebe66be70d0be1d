//! Becoming the foreign program, bound to die with those who started it.
//!
//! What must be set in the program's own process before it starts cannot be set from outside of it
//! without unsafe code, so this program is started again, sets it, and becomes the other. With
//! `--keep` it does not become the program but starts it so, and keeps it: see [`crate::keeper`].

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use net::cpu::{self, CpuList};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::keeper;

/// The subcommand by which this program has to be able to start itself, with [`HopOptions`].
pub const HOP: &str = "peer-exec";

/// What is set before the program starts.
#[derive(Clone, Debug, clap::Args)]
pub struct HopOptions {
    /// End when the process with this id, our parent, ends
    #[arg(long, value_name = "PID")]
    pub parent_pid: i32,

    /// The signal to end by: TERM or KILL
    #[arg(long, value_name = "SIGNAL", default_value = "KILL")]
    pub last_signal: LastSignal,

    /// Run only on these CPUs
    #[arg(long, value_name = "CPUS")]
    pub cpus: Option<CpuList>,

    /// Do not become the program: keep it, and end all that comes of it when standard input ends
    #[arg(long)]
    pub keep: bool,

    /// Remove this directory when all of it has ended
    #[arg(long, value_name = "PATH", requires = "keep")]
    pub remove: Option<PathBuf>,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// How a program ends whose parent has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LastSignal {
    /// It ends its children, then itself.
    #[value(name = "TERM")]
    Term,
    /// It is ended at once.
    #[value(name = "KILL")]
    Kill,
}

impl LastSignal {
    /// As it is typed.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Term => "TERM",
            Self::Kill => "KILL",
        }
    }
}

impl From<LastSignal> for Signal {
    fn from(signal: LastSignal) -> Self {
        match signal {
            LastSignal::Term => Self::TERM,
            LastSignal::Kill => Self::KILL,
        }
    }
}

/// Why the program did not start.
#[derive(Debug, thiserror::Error)]
pub enum HopError {
    /// Its parent or its CPUs are not there, or some of what it kept does not end.
    #[error("failed to set up the process: {0}")]
    Process(#[source] io::Error),
    /// It is not a program, or may not be run.
    #[error("failed to run {program}: {source}")]
    Run {
        /// As it was named.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// Becomes the program; returns only if that fails, or when it has been kept to its end.
///
/// # Errors
/// See [`HopError`].
pub fn hop(options: &HopOptions) -> Result<(), HopError> {
    if options.keep {
        return keeper::keep(options);
    }
    // prctl(2) PR_SET_PDEATHSIG stays through execve(2), and tells of later deaths only: so look once
    // afterwards.
    set_parent_process_death_signal(Some(options.last_signal.into()))
        .map_err(|errno| HopError::Process(errno.into()))?;
    if getppid().map(Pid::as_raw_pid) != Some(options.parent_pid) {
        let gone = io::Error::other("the process that started this one has ended");
        return Err(HopError::Process(gone));
    }
    if let Some(cpus) = &options.cpus {
        cpu::pin_current_thread(cpus.as_slice()).map_err(HopError::Process)?;
    }
    let Some((program, args)) = options.command.split_first() else {
        return Err(HopError::Process(io::ErrorKind::InvalidInput.into()));
    };
    let source = Command::new(program).args(args).exec();
    Err(HopError::Run { program: program.into(), source })
}
