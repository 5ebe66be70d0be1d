//! The proxy role on its own: `cargo run -p proxy -- --upstream 127.0.0.1:9000`.

use std::process::ExitCode;

use clap::Parser;
use net::role;

/// A proxy that behaves as an nginx worker does, with its read policies as toggles.
#[derive(Parser)]
#[command(
    version,
    after_help = "\
Examples:
  proxy --upstream 127.0.0.1:9000 --listen 127.0.0.1:8000 --reuseport
  proxy --upstream 127.0.0.1:9000 --read-policy fionread --access-log access.log"
)]
struct Cli {
    #[command(flatten)]
    options: proxy::ProxyOptions,
}

fn main() -> ExitCode {
    role::finish("proxy", proxy::run(&Cli::parse().options))
}
