//! `turnstile`: see `turnstile --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    harness::main()
}
