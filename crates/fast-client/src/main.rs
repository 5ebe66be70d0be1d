//! The fast client on its own: `cargo run -p fast-client -- 127.0.0.1:8000`.

use std::process::ExitCode;

use clap::Parser;
use fast_client::FastError;

/// Timed fetches of a small object, each over a new connection and with a hard cap.
#[derive(Parser)]
#[command(
    version,
    after_help = "\
Examples:
  fast-client 127.0.0.1:8000
  fast-client 127.0.0.1:8000 --arrivals 50/s --fetch-size 40KiB --cap 250ms
  fast-client 127.0.0.1:8000 --arrivals closed --duration 30s"
)]
struct Cli {
    #[command(flatten)]
    options: fast_client::FastOptions,
}

/// As clap's own, for what only the target's address can tell.
const USAGE: u8 = 2;

#[expect(clippy::print_stderr, reason = "a program's own message")]
fn main() -> ExitCode {
    match fast_client::run(&Cli::parse().options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fast-client: {error}");
            match error {
                FastError::Target(_) => ExitCode::from(USAGE),
                _ => ExitCode::FAILURE,
            }
        }
    }
}
