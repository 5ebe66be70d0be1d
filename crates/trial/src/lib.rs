//! One trial: the roles are started, put under load, watched, stopped and reaped, and what they say
//! is filed.
//!
//! - `options`: what is typed, and the plan that it makes
//! - `phases`: what is done when, as a state machine
//! - [`run`]: does it, with processes and files
//! - [`roles`]: the programs of a trial; the only module that names their crates
//! - [`run_dir`]: the files of a run, as a trial writes them
//! - [`progress`]: what a trial shows of itself while it runs
//! - [`placement`]: which download goes to which worker
//! - [`cpu_plan`]: which process runs where
//! - `capture`: the packets of a run
//! - `cgroup` and `neighbours`: a proxy that gets less CPU than it asks for
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
mod cgroup;
mod children;
pub mod cpu_plan;
pub mod host;
mod neighbours;
mod options;
mod phases;
pub mod placement;
pub mod progress;
pub mod roles;
mod run;
pub mod run_dir;
mod sampler;
pub mod signals;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use netlab::{Lab, LabError, LabPlan};
use records::{Arm, Fault, Micros, Recording};

use crate::progress::{Progress, Show};
use crate::roles::Given;
use crate::run_dir::{RunWriter, WriteError};
use cgroup::Cgroup;
use children::Children;
use cpu_plan::CpuPlan;
pub use options::{NetworkOptions, RunDirOptions, TrialOptions, UsageError};
use run::Run;
use signals::Signals;

/// A trial to be: every option checked.
#[derive(Clone, Debug)]
pub struct TrialPlan {
    /// The setting of all toggles.
    pub arm: Arm,
    /// What is given of a foreign program beside its name.
    pub given: Given,
    /// Whether there is an origin, and where.
    pub origin: Origin,
    /// Which process runs where.
    pub cpus: CpuPlan,
    /// Hosts of their own for the roles; absent: all is on loopback.
    pub lab: Option<LabPlan>,
    /// Length of the idle phase.
    pub idle: Duration,
    /// Length of the measure phase.
    pub measure: Duration,
    /// Steps and loop turns from this length on are recorded one by one.
    pub hold: Micros,
    /// How much is recorded: with [`Recording::Minimal`] nothing is sampled.
    pub recording: Recording,
    /// Where the access log goes; absent: into the run directory.
    pub access_log: Option<PathBuf>,
    /// Whether packets are kept, as tcpdump sees them.
    pub capture: bool,
    /// Where run directories are made.
    pub runs_dir: PathBuf,
    /// What the name of this one ends with.
    pub label: String,
}

/// The origin of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The server under test answers by itself.
    None,
    /// On a free port.
    Anywhere,
    /// Where a proxy looks for it that is configured already.
    At(SocketAddr),
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

/// Runs a trial; `command` is what was typed, for the manifest. Call it on the main thread: children end
/// with the thread that started them.
///
/// # Errors
/// The records could not be written, or this host does not let us start. Nothing is left running.
pub fn run(plan: &TrialPlan, command: Vec<String>, show: Show) -> Result<Finished, TrialError> {
    let children = Children::default();
    let signals = Signals::report_to(children.sender()).map_err(TrialError::Host)?;
    if let Some(cpus) = &plan.cpus.load {
        // Threads started from here on inherit it.
        net::cpu::pin_current_thread(cpus.as_slice()).map_err(TrialError::Host)?;
    }
    // Children do so for themselves. Here two are open for each worker that is watched.
    net::role::raise_open_files();
    // The hosts that the roles run on, if they have some of their own.
    let lab = plan.lab.as_ref().map(Lab::up).transpose()?;
    let cgroup = plan.arm.faults.cpu_quota.map(|_| Cgroup::make()).transpose();
    let cgroup = cgroup.map_err(TrialError::Quota)?;
    let started = Timestamp::now();
    let dir = RunWriter::create(&plan.runs_dir, started, &plan.label)?;
    let around = (lab.as_ref(), cgroup.as_ref());
    let finished =
        Run::new(plan, (command, started), children, dir, Progress::new(show), around).complete();
    signals.trial_over();
    finished
}

/// Why there is no run to report on.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The run directory does not take the records.
    #[error("failed to record the run")]
    Write(#[from] WriteError),
    /// This host refuses what every trial needs.
    #[error("failed to set up the harness on this host")]
    Host(#[source] io::Error),
    /// The hosts of their own could not be made.
    #[error("failed to make the hosts of the run")]
    Lab(#[from] LabError),
    /// No control group could be made for the proxy, or none with a quota.
    #[error("failed to withhold CPU time from the proxy (--cpu-quota)")]
    Quota(#[source] io::Error),
    /// Packets cannot be kept.
    #[error("failed to keep packets (--capture)")]
    Capture(#[source] io::Error),
    /// A process could not be started.
    #[error("failed to start the {role} role")]
    Start {
        /// Which one.
        role: records::Role,
        /// Why not.
        source: io::Error,
    },
}
