//! The slow client on its own: `cargo run -p slow-client -- 127.0.0.1:8000`.

use std::process::ExitCode;

use clap::Parser;
use net::role;

/// Parallel multi-GB downloads, begun again whenever one ends, until stopped.
#[derive(Parser)]
#[command(
    version,
    after_help = "\
Examples:
  slow-client 127.0.0.1:8000 --duration 10s
  slow-client 127.0.0.1:8000 --slow 8 --slow-size 4GiB
  slow-client 127.0.0.1:8000 --slow 1000 --slow-size 64MiB --read-rate 1MiB/s"
)]
struct Cli {
    #[command(flatten)]
    options: slow_client::SlowOptions,
}

fn main() -> ExitCode {
    role::finish("slow-client", slow_client::run(&Cli::parse().options))
}
