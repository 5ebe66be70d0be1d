//! The slow client on its own: `cargo run -p slow-client -- 127.0.0.1:8000`.

use std::process::ExitCode;

use clap::Parser;
use net::role;

fn main() -> ExitCode {
    role::finish("slow-client", slow_client::run(&slow_client::SlowOptions::parse()))
}
