//! Subcommands by which this program starts itself in order to set up a process that it could not set
//! up from outside. Nobody types them.

use std::process::ExitCode;

use net::role::{self, Failure};
use netlab::{EnterOptions, Program};
use peer::{HOP, HopOptions};

/// A process to be set up.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum HopCommand {
    /// Become another program, in a network namespace
    #[command(hide = true, name = Program::ENTER)]
    Enter(EnterOptions),
    /// Become another program, which ends with its parent
    #[command(hide = true, name = HOP)]
    Hop(HopOptions),
}

impl HopCommand {
    /// Does it; returns only if that fails.
    pub fn run(&self) -> ExitCode {
        match self {
            Self::Enter(options) => netlab::enter(options),
            Self::Hop(options) => role::finish(HOP, peer::hop(options), |_| Failure::Trouble),
        }
    }
}
