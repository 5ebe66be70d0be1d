//! The command line of `turnstile`.

mod campaign;
mod case;
mod check;
mod common;
mod config;
mod demo;
mod explain;
mod report;
mod run;

use std::process::ExitCode;

use anyhow::Context;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use trial::roles::{HopCommand, RoleCommand};

use crate::output;
use crate::who;

#[cfg(test)]
mod tests;

/// Finds, explains and guards against starved requests in event-loop servers
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
    after_help = SHORT,
    after_long_help = EXAMPLES
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    run: run::RunOptions,
}

/// Where there is more than a screen holds.
const SHORT: &str = "All options and examples: turnstile --help";

/// For the command and its default alike.
const EXAMPLES: &str = "\
Examples:
  turnstile --reuseport                            the starvation
  turnstile --reuseport --rcvbuf 40960             the cure that was published
  turnstile --reuseport --read-policy fionread     what nginx does from 1.17.5 on
  turnstile --slow 8 --slow-size 4GiB --duration 20s --label eight
  turnstile --server 'uvicorn app:app --port {port}' --fetch-path /health --slow-path /export
  turnstile report runs/20260301T123005Z-reuseport --json
  turnstile explain --fetch 17

Further commands, each with its own help: completions and man; the programs of a trial, which are
origin, proxy, slow and fast.

Exit codes: 0 done, whatever the verdict; 1 error, or a role that died; 2 usage.";

/// Everything `turnstile` can do.
#[derive(Debug, Subcommand)]
enum Command {
    /// Run one trial and say what it proves (the default)
    #[command(args_override_self = true, after_help = SHORT, after_long_help = EXAMPLES)]
    Run(Box<run::RunOptions>),
    /// Make the report of a run again, from its records
    Report(report::ReportOptions),
    /// Say what held the late fetches of a run, or tell one of them
    Explain(explain::ExplainOptions),
    /// Run settings in turn over rounds, and say whether they differ
    #[command(args_override_self = true, after_help = campaign::EXAMPLES)]
    Compare(campaign::CompareOptions),
    /// Hold trials against limits or a baseline: a gate for CI
    #[command(args_override_self = true, after_help = check::EXAMPLES)]
    Check(check::CheckOptions),
    /// Run a published case; case list names them
    #[command(after_help = case::EXAMPLES)]
    Case(case::CaseOptions),
    /// Show the starvation and its cure on a stage, live
    #[command(after_help = demo::EXAMPLES)]
    Demo(demo::DemoOptions),
    /// Watch a live server: which connection holds a worker of it
    Who(who::WhoOptions),
    /// Write a file of options to begin with, for --config
    #[command(after_help = config::EXAMPLES)]
    Init(config::InitOptions),
    #[command(flatten)]
    Role(RoleCommand),
    #[command(flatten)]
    Hop(HopCommand),
    /// Print completions for a shell
    #[command(
        hide = true,
        after_help = "\
Examples:
  turnstile completions bash > ~/.local/share/bash-completion/completions/turnstile"
    )]
    Completions {
        /// Which shell
        shell: Shell,
    },
    /// Print the manual page
    #[command(
        hide = true,
        after_help = "\
Examples:
  turnstile man > turnstile.1 && man ./turnstile.1"
    )]
    Man,
}

/// Reads the command line and does what it says. Call it on the main thread.
///
/// Usage errors, help and version end the process here, as clap does.
pub fn main() -> ExitCode {
    let words = std::env::args_os().collect();
    let cli = config::parse(words).unwrap_or_else(|error| error.exit());
    let done = match cli.command {
        None => run::run(cli.run),
        Some(Command::Run(options)) => run::run(*options),
        Some(Command::Report(options)) => report::report(&options),
        Some(Command::Explain(options)) => explain::explain(&options),
        Some(Command::Compare(options)) => campaign::compare(&options),
        Some(Command::Check(options)) => check::check(&options),
        Some(Command::Case(options)) => case::case(&options),
        Some(Command::Demo(options)) => demo::demo(&options),
        Some(Command::Who(options)) => {
            who::run(&options, demo::has_screen()).map(|()| ExitCode::SUCCESS)
        }
        Some(Command::Init(options)) => config::init(&options),
        // A role in this process: the harness has no part in it.
        Some(Command::Role(role)) => return role.run(),
        Some(Command::Hop(hop)) => return hop.run(),
        Some(Command::Completions { shell }) => completions(shell),
        Some(Command::Man) => man(),
    };
    done.unwrap_or_else(|error| {
        output::say(&format!("turnstile: {error:#}"));
        ExitCode::FAILURE
    })
}

/// Prints completions for `shell`.
fn completions(shell: Shell) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "turnstile", &mut text);
    output::print(&text).context("failed to print the completions")?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the manual page as roff.
fn man() -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut text).context("failed to write the page")?;
    output::print(&text).context("failed to print the page")?;
    Ok(ExitCode::SUCCESS)
}

/// Ends the process with clap's message and exit code 2.
fn usage_text(text: &str) -> ! {
    usage_error(text).exit()
}

/// The same, to be told by the caller.
fn usage_error(text: &str) -> clap::Error {
    // It may quote a program that was asked for its version.
    let text = net::terminal::printable(text);
    Cli::command().error(clap::error::ErrorKind::ValueValidation, text)
}
