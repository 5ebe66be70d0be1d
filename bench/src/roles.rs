//! The roles this binary can play when its first arguments are `PLAY` and a role's name.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use fast_client::FastOptions;
use origin::OriginOptions;
use proxy::ProxyOptions;
use slow_client::SlowOptions;

/// The first argument of a child. `fast` alone would not do: it is a filter that people type.
pub(crate) const PLAY: &str = "play-role";

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
    /// The fetches
    Fast(Box<FastOptions>),
}

/// Plays the role that the arguments name to its end. `None`: they name none, so this process is
/// the one that measures.
#[expect(clippy::print_stderr, reason = "a program's own message")]
pub fn play() -> Option<ExitCode> {
    let mut args = std::env::args_os();
    let program = args.next()?;
    if args.next()? != PLAY {
        return None;
    }
    let ended: anyhow::Result<()> = match Cli::parse_from([program].into_iter().chain(args)).role {
        RoleCommand::Origin(options) => origin::run(&options).map_err(Into::into),
        RoleCommand::Proxy(options) => proxy::run(&options).map_err(Into::into),
        RoleCommand::Slow(options) => slow_client::run(&options).map_err(Into::into),
        RoleCommand::Fast(options) => fast_client::run(&options).map_err(Into::into),
    };
    Some(match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    })
}
