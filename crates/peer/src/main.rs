//! The peer role on its own: `cargo run -p peer -- --arm '...' --upstream 127.0.0.1:9000 --dir d`.

use std::process::ExitCode;

use clap::Parser;
use net::role::{self, Failure};
use peer::{HopOptions, PeerError, PeerOptions};

/// A foreign proxy in the place of the mirror: nginx, HAProxy, Caddy, Apache, H2O or any command.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    options: PeerOptions,
}

/// Becomes the foreign program.
#[derive(Parser)]
#[command(name = peer::HOP)]
struct Hop {
    #[command(flatten)]
    options: HopOptions,
}

fn main() -> ExitCode {
    // Not a subcommand to clap: the role itself is none here, and its options are required.
    let mut args = std::env::args_os().skip(1).peekable();
    if args.next_if(|word| word == peer::HOP).is_some() {
        let hop = Hop::parse_from(std::iter::once(peer::HOP.into()).chain(args));
        return role::finish(peer::HOP, peer::hop(&hop.options), |_| Failure::Trouble);
    }
    role::finish("peer", peer::run(&Cli::parse().options), PeerError::failure)
}
