//! The fast client on its own: `cargo run -p fast-client -- 127.0.0.1:8000`.

use std::process::ExitCode;

use clap::Parser;
use net::role;

/// Timed fetches of a small object, each with a hard cap.
#[derive(Parser)]
#[command(
    version,
    after_help = "\
Examples:
  fast-client 127.0.0.1:8000
  fast-client 127.0.0.1:8000 --arrivals 50/s --fetch-size 40KiB --cap 250ms
  fast-client 127.0.0.1:8000 --arrivals closed --duration 30s
  fast-client 127.0.0.1:8000 --arrivals closed:500 --keep-alive --fetch-size 91KiB
  fast-client 127.0.0.1:8000 --arrivals 0.5/s --burst 200"
)]
struct Cli {
    #[command(flatten)]
    options: fast_client::FastOptions,
}

fn main() -> ExitCode {
    role::finish("fast-client", fast_client::run(&Cli::parse().options))
}
