//! The tracer on its own: `cargo run -p tracer -- --pid 4711`.

use std::process::ExitCode;

use clap::Parser;
use net::role;
use tracer::TracerError;

/// Watch the workers of a proxy that runs, and tell what they do: one record a line.
#[derive(Parser)]
#[command(version, after_help = tracer::EXAMPLES)]
struct Cli {
    #[command(flatten)]
    options: tracer::TracerOptions,
}

fn main() -> ExitCode {
    let ended = tracer::run(&Cli::parse().options);
    role::finish("trace", ended, TracerError::failure)
}
