//! The roles this binary can play when its first argument names one.
//!
//! No benchmark has a role's name in its own, so a filter that a person types is never taken for
//! one.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use origin::OriginOptions;
use proxy::ProxyOptions;
use slow_client::SlowOptions;

/// A child's command line.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    role: RoleCommand,
}

#[derive(Subcommand)]
enum RoleCommand {
    /// The upstream
    Origin(Box<OriginOptions>),
    /// The proxy
    Proxy(Box<ProxyOptions>),
    /// The downloads
    Slow(Box<SlowOptions>),
}

/// Plays the role named by the first argument to its end. `None`: it names none, so this process
/// is the one that measures.
#[expect(clippy::print_stderr, reason = "a program's own message")]
pub fn play() -> Option<ExitCode> {
    if !std::env::args().nth(1).is_some_and(|word| RoleCommand::has_subcommand(&word)) {
        return None;
    }
    let ended: anyhow::Result<()> = match Cli::parse().role {
        RoleCommand::Origin(options) => origin::run(&options).map_err(Into::into),
        RoleCommand::Proxy(options) => proxy::run(&options).map_err(Into::into),
        RoleCommand::Slow(options) => slow_client::run(&options).map_err(Into::into),
    };
    Some(match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    })
}
