//! The origin role on its own: `cargo run -p origin`.

use std::process::ExitCode;

use clap::Parser;

/// An upstream that serves bodies of any size at little cost: GET /bytes/2GiB
#[derive(Parser)]
#[command(
    version,
    after_help = "\
Examples:
  origin --listen 127.0.0.1:9000
  curl -o /dev/null http://127.0.0.1:9000/bytes/3MiB"
)]
struct Cli {
    #[command(flatten)]
    options: origin::OriginOptions,
}

#[expect(clippy::print_stderr, reason = "a program's own message")]
fn main() -> ExitCode {
    match origin::run(&Cli::parse().options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("origin: {error}");
            ExitCode::FAILURE
        }
    }
}
