//! One trial: the roles are started, put under load, watched, stopped and reaped, and what they say
//! is filed.
//!
//! - `options`: what is typed, and the plan that it makes
//! - `phases`: what is done when, as a state machine
//! - [`run`]: does it, with processes and files
//! - [`roles`]: the programs of a trial; the only module that names their crates
//! - [`run_dir`]: the files of a run, as a trial writes them
//! - [`placement`]: which download goes to which worker
//! - [`cpu_plan`]: which process runs where
//! - `capture`: the packets of a run
//! - `withheld`: a proxy that gets less CPU than it asks for
//! - `sampler`: what is seen from outside
//! - [`signals`]: what Ctrl-C means while a trial runs
//!
//! Not for: load, relaying or judging. A trial knows the roles by their records alone.
//!
//! Invariants:
//! - Phases follow each other as [`records::Phase`] has them; whatever happens, the last is
//!   teardown, and no child is left after it.
//! - Trouble with a role is a [`records::Fault`] in the manifest. An error of this module means that
//!   there is no run to report on.

mod capture;
mod children;
pub mod cpu_plan;
pub mod host;
mod options;
mod phases;
pub mod placement;
pub mod roles;
mod run;
pub mod run_dir;
mod sampler;
pub mod signals;
mod withheld;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use netlab::HostPlan;
use records::{Fault, Phase};

use cpu_plan::CpuPlan;
pub use options::{NetworkOptions, RunDirOptions, TrialOptions};
pub use run::run;

/// A trial to be: every option checked.
#[derive(Clone, Debug)]
pub struct TrialPlan {
    /// What was asked for, its arm as it is on this host.
    pub trial: TrialOptions,
    /// What its records are called, always with a label, and where its access log goes.
    pub files: RunDirOptions,
    /// Where run directories are made.
    pub runs_dir: PathBuf,
    /// Whether there is an origin.
    pub origin: Origin,
    /// Which process runs where.
    pub cpus: CpuPlan,
    /// Hosts of their own for the roles; absent: all is on loopback.
    pub lab: Option<Vec<HostPlan>>,
}

/// The origin of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The server under test answers by itself.
    None,
    /// One that we start.
    Ours,
}

/// A trial that was run, to its end or not.
#[derive(Debug)]
pub struct Finished {
    /// Its run directory.
    pub dir: PathBuf,
    /// What went wrong with a role, if anything.
    pub faults: Vec<Fault>,
    /// The signal that cut it short.
    pub interrupted: Option<i32>,
}

/// What a trial shows of itself while it runs, on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// Nothing.
    Nothing,
    /// Each phase.
    Phases,
}

impl Show {
    /// A phase begins; `length` is its own, when it has one.
    pub(crate) fn phase(self, phase: Phase, length: Option<Duration>) {
        if self == Self::Nothing {
            return;
        }
        let length = length.map(|length| format!(", {}", humantime::format_duration(length)));
        let (name, what, length) = (phase.name(), meaning(phase), length.unwrap_or_default());
        // Nobody may be listening any more: that is no reason to stop a trial.
        let _ = writeln!(io::stderr(), "{name}: {what}{length}");
    }
}

/// What happens in a phase.
pub const fn meaning(phase: Phase) -> &'static str {
    match phase {
        Phase::Setup => "starting",
        Phase::Idle => "fetches alone",
        Phase::Load => "starting downloads",
        Phase::Measure => "fetches beside downloads",
        Phase::Drain => "waiting for the last fetches",
        Phase::Teardown => "stopping",
    }
}
