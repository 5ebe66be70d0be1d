//! The command line of `turnstile`.

mod docs;
mod explain;
mod output;
mod report;
mod run;
mod trial_options;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::doctor::DoctorOptions;
use crate::roles::RoleCommand;

pub use explain::{ExplainOptions, FetchPhase};
pub use output::Color;
pub(crate) use output::print;
pub use report::ReportOptions;
pub use trial_options::{TrialOptions, UsageError};

#[cfg(test)]
mod tests;

/// Reproduces, explains and guards against fast-connection starvation in event-loop proxies
///
/// A trial starts an origin, a proxy, downloads and small fetches on this machine, and says whether
/// the fetches starve behind the downloads, at which worker, and in which step.
#[derive(Debug, Parser)]
#[command(
    name = "turnstile",
    version,
    max_term_width = 100,
    args_conflicts_with_subcommands = true,
    args_override_self = true,
    after_help = EXAMPLES
)]
pub struct Cli {
    /// What to do; without one: run a trial.
    #[command(subcommand)]
    pub command: Option<Command>,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub trial: TrialOptions,
}

/// For the command and its default alike.
const EXAMPLES: &str = "\
Examples:
  turnstile --reuseport                            the starvation
  turnstile --reuseport --rcvbuf 40960             the cure that was published
  turnstile --reuseport --read-policy fionread     what nginx does from 1.17.5 on
  turnstile --slow 8 --slow-size 4GiB --duration 20s --label eight
  turnstile report runs/20260301T123005Z-reuseport --json
  turnstile explain --fetch 17
  turnstile doctor

Exit codes: 0 done, whatever the verdict; 1 error, or a role that died; 2 usage.";

/// Everything `turnstile` can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run one trial and say what it proves (the default)
    #[command(args_override_self = true, after_help = EXAMPLES)]
    Run(Box<TrialOptions>),
    /// Make the report of a run again, from its records
    Report(ReportOptions),
    /// Say what held the late fetches of a run, and tell one of them from start to end
    Explain(ExplainOptions),
    /// Check this machine and say what each finding means
    Doctor(DoctorOptions),
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for help")]
    Role(RoleCommand),
    /// Print completions for a shell
    #[command(after_help = "\
Examples:
  turnstile completions bash > ~/.local/share/bash-completion/completions/turnstile")]
    Completions {
        /// Which shell
        shell: Shell,
    },
    /// Print the manual page
    #[command(after_help = "\
Examples:
  turnstile man > turnstile.1 && man ./turnstile.1")]
    Man,
}

/// Reads the command line and does what it says. Call it on the main thread.
///
/// Usage errors, help and version end the process here, as clap does.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        None => run::run(cli.trial),
        Some(Command::Run(options)) => run::run(*options),
        Some(Command::Report(options)) => report::report(&options),
        Some(Command::Explain(options)) => explain::explain(&options),
        Some(Command::Doctor(options)) => crate::doctor::doctor(&options),
        // A role in this process: the harness has no part in it.
        Some(Command::Role(role)) => return role.run(),
        Some(Command::Completions { shell }) => docs::completions(shell),
        Some(Command::Man) => docs::man(),
    };
    done.unwrap_or_else(|error| {
        output::say(&format!("turnstile: {error:#}"));
        ExitCode::FAILURE
    })
}

/// Ends the process with clap's message and exit code 2.
fn usage(error: &UsageError) -> ! {
    Cli::command().error(clap::error::ErrorKind::ValueValidation, error).exit()
}
