//! The origin role on its own: `cargo run -p origin`.

use std::process::ExitCode;

use clap::Parser;
use net::role;

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

fn main() -> ExitCode {
    let ended = origin::run(&Cli::parse().options);
    role::finish("origin", ended)
}
