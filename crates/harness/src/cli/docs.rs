//! Completions and the manual page, made from the command line's own definition.

use std::process::ExitCode;

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

use super::Cli;
use super::output;

/// Prints completions for `shell`.
pub(super) fn completions(shell: Shell) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "turnstile", &mut text);
    output::print(&text).context("failed to print the completions")?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the manual page as roff.
pub(super) fn man() -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut text).context("failed to write the page")?;
    output::print(&text).context("failed to print the page")?;
    Ok(ExitCode::SUCCESS)
}
