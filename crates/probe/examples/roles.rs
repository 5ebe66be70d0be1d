//! The roles of a trial in one program, for the tests: something to watch, and load for it.
//!
//! `cargo run -p tracer --example roles -- proxy --upstream 127.0.0.1:9000`

use std::process::ExitCode;

use clap::Parser;
use net::role;

#[derive(Parser)]
enum Role {
    /// The upstream.
    Origin(origin::OriginOptions),
    /// The mirror.
    Proxy(Box<proxy::ProxyOptions>),
    /// Downloads.
    Slow(slow_client::SlowOptions),
    /// Fetches.
    Fast(fast_client::FastOptions),
}

fn main() -> ExitCode {
    match Role::parse() {
        Role::Origin(options) => role::finish("origin", origin::run(&options)),
        Role::Proxy(options) => role::finish("proxy", proxy::run(&options)),
        Role::Slow(options) => role::finish("slow", slow_client::run(&options)),
        Role::Fast(options) => role::finish("fast", fast_client::run(&options)),
    }
}
