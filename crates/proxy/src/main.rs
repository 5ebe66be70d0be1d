//! The proxy role on its own: `cargo run -p proxy -- --upstream 127.0.0.1:9000`.

use std::process::ExitCode;

use clap::Parser;
use net::role;

fn main() -> ExitCode {
    role::finish("proxy", proxy::run(&proxy::ProxyOptions::parse()))
}
