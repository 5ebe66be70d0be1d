//! The origin role on its own: `cargo run -p origin`.

use std::process::ExitCode;

use clap::Parser;
use net::role;

fn main() -> ExitCode {
    role::finish("origin", origin::run(&origin::OriginOptions::parse()))
}
