//! The role on its own: `cargo run -p servers -- run '{"arm": ...}'`, with [`ServerOptions`] in JSON.

use std::process::ExitCode;

use clap::Parser;
use net::role;
use servers::{SUBREAPER, ServerOptions, SubreaperOptions};

/// A foreign server in the place of the mirror: nginx, HAProxy, Caddy, Apache, H2O or any command.
#[derive(Parser)]
#[command(version)]
enum Cli {
    /// Run it
    Run {
        #[arg(value_name = "JSON", value_parser = |text: &str| serde_json::from_str::<Box<ServerOptions>>(text))]
        options: Box<ServerOptions>,
    },
    /// Keep the program, or become it
    #[command(name = SUBREAPER)]
    Subreaper {
        #[arg(value_name = "JSON", value_parser = |text: &str| serde_json::from_str::<SubreaperOptions>(text))]
        options: SubreaperOptions,
    },
}

fn main() -> ExitCode {
    match Cli::parse() {
        Cli::Run { options } => role::finish("server", servers::run(&options)),
        Cli::Subreaper { options } => role::finish(SUBREAPER, servers::subreaper(&options)),
    }
}
