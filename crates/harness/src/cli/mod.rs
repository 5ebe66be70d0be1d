//! The command line of `turnstile`.

mod campaign;
mod campaign_report;
mod case;
mod check;
mod common;
mod compare;
mod config;
mod demo;
mod explain;
mod preflight;
mod report;
mod run;
mod who;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Arg, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use trial::roles::{HopCommand, RoleCommand};

use crate::campaign::arm;
use crate::doctor::DoctorOptions;
use crate::output;

pub use campaign::CampaignOptions;
pub use case::CaseOptions;
pub use check::CheckOptions;
pub use common::{OutputOptions, TrialsOptions, WhichRun};
pub use compare::CompareOptions;
pub use config::{ConfigOptions, InitOptions};
pub use demo::{Cure, DemoOptions};
pub use explain::ExplainOptions;
pub use report::ReportOptions;
pub use run::RunOptions;
pub use who::WhoOptions;

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
pub struct Cli {
    /// What to do; without one: run a trial.
    #[command(subcommand)]
    pub command: Option<Command>,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub run: RunOptions,
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
  turnstile doctor

Further commands, each with its own help: completions and man; the programs of a trial, which are
origin, proxy, slow and fast; trace, which watches the workers of a proxy that runs.

Exit codes: 0 done, whatever the verdict; 1 error, or a role that died; 2 usage.";

/// Everything `turnstile` can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run one trial and say what it proves (the default)
    #[command(args_override_self = true, after_help = SHORT, after_long_help = EXAMPLES)]
    Run(Box<RunOptions>),
    /// Make the report of a run again, from its records
    Report(ReportOptions),
    /// Say what held the late fetches of a run, or tell one of them
    Explain(ExplainOptions),
    /// Run settings in turn over rounds, and say whether they differ
    #[command(args_override_self = true, after_help = compare::EXAMPLES)]
    Compare(CompareOptions),
    /// Hold trials against limits or a baseline: a gate for CI
    #[command(args_override_self = true, after_help = check::EXAMPLES)]
    Check(CheckOptions),
    /// Run a published case; case list names them
    #[command(after_help = case::EXAMPLES)]
    Case(CaseOptions),
    /// Show the starvation and its cure on a stage, live
    #[command(after_help = demo::EXAMPLES)]
    Demo(DemoOptions),
    /// Watch a live server: which connection holds a worker of it
    Who(WhoOptions),
    /// Write a file of options to begin with, for --config
    #[command(after_help = config::EXAMPLES)]
    Init(InitOptions),
    /// Check this machine and say what each finding means
    Doctor(DoctorOptions),
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for help")]
    Role(RoleCommand),
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for help")]
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
    let words = config::with_config(std::env::args_os().collect());
    let words = words.unwrap_or_else(|error| usage_text(&error));
    let cli = Cli::parse_from(trial_options_last(words));
    let done = match cli.command {
        None => run::run(cli.run),
        Some(Command::Run(options)) => run::run(*options),
        Some(Command::Report(options)) => report::report(&options),
        Some(Command::Explain(options)) => explain::explain(&options),
        Some(Command::Compare(options)) => compare::compare(&options),
        Some(Command::Check(options)) => check::check(&options),
        Some(Command::Case(options)) => case::case(&options),
        Some(Command::Demo(options)) => demo::demo(&options),
        Some(Command::Who(options)) => who::who(&options),
        Some(Command::Init(options)) => config::init(&options),
        Some(Command::Doctor(options)) => crate::doctor::doctor(&options),
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

/// The same words, of `check` and `compare` those that are options of a trial behind all others: they need
/// no `--` before them.
fn trial_options_last(mut words: Vec<OsString>) -> Vec<OsString> {
    if !words.get(1).is_some_and(|command| command == "check" || command == "compare") {
        return words;
    }
    let trial = arm::command();
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let behind = words.split_off(end);
    let (mut own, mut moved) = (Vec::new(), Vec::new());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy().into_owned();
        let (name, value) = text.split_once('=').map_or((&*text, None), |(n, v)| (n, Some(v)));
        let is_it = |option: &&Arg| {
            let mut names = option.get_long_and_visible_aliases().into_iter().flatten();
            let mut aliases = option.get_all_aliases().into_iter().flatten();
            name.strip_prefix("--").is_some_and(|name| {
                names.any(|long| long == name) || aliases.any(|alias| alias == name)
            })
        };
        match trial.get_arguments().find(is_it) {
            Some(option) => {
                let takes_next = value.is_none() && option.get_action().takes_values();
                moved.push(word);
                if takes_next {
                    moved.extend(words.next());
                }
            }
            None => own.push(word),
        }
    }
    if !moved.is_empty() || !behind.is_empty() {
        own.push("--".into());
    }
    own.into_iter().chain(moved).chain(behind.into_iter().skip(1)).collect()
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
    // It may quote a program that was asked for its version.
    let text = net::terminal::printable(text);
    Cli::command().error(clap::error::ErrorKind::ValueValidation, text).exit()
}
