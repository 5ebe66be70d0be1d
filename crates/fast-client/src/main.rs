//! The fast client on its own: `cargo run -p fast-client -- 127.0.0.1:8000`.

use std::process::ExitCode;

use clap::Parser;
use net::role;

fn main() -> ExitCode {
    role::finish("fast-client", fast_client::run(&fast_client::FastOptions::parse()))
}
