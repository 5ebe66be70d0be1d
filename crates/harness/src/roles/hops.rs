//! Subcommands by which this program starts itself in order to set up a process that it could not set
//! up from outside. Nobody types them.

use std::process::ExitCode;

use net::role::{self, Failure};
use netlab::{EnterOptions, Program};
use servers::{SUBREAPER, SubreaperOptions};

/// A process to be set up.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum HopCommand {
    /// Become another program, in a network namespace
    #[command(hide = true, name = Program::ENTER)]
    Enter(EnterOptions),
    /// Keep another program, and end all that comes of it
    #[command(hide = true, name = SUBREAPER)]
    Subreaper(SubreaperOptions),
}

impl HopCommand {
    /// Does it; where it becomes another program, returns only if that fails.
    pub fn run(&self) -> ExitCode {
        match self {
            Self::Enter(options) => netlab::enter(options),
            Self::Subreaper(options) => {
                role::finish(SUBREAPER, servers::subreaper(options), |_| Failure::Trouble)
            }
        }
    }
}
