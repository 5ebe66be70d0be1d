//! The role on its own: `cargo run -p servers -- --arm '...' --upstream 127.0.0.1:9000 --dir d`.

use std::process::ExitCode;

use clap::Parser;
use net::role;
use servers::{SUBREAPER, ServerOptions, SubreaperOptions};

/// A foreign server in the place of the mirror: nginx, HAProxy, Caddy, Apache, H2O or any command.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    options: ServerOptions,
}

/// Keeps the foreign program, or becomes it.
#[derive(Parser)]
#[command(name = SUBREAPER)]
struct Subreaper {
    options: SubreaperOptions,
}

fn main() -> ExitCode {
    // Not a subcommand to clap: the role itself is none here, and its options are required.
    let mut args = std::env::args_os().skip(1).peekable();
    if args.next_if(|word| word == SUBREAPER).is_some() {
        let Subreaper { options } =
            Subreaper::parse_from(std::iter::once(SUBREAPER.into()).chain(args));
        return role::finish(SUBREAPER, servers::subreaper(&options));
    }
    role::finish("server", servers::run(&Cli::parse().options))
}
