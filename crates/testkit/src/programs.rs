//! What this host must have for a test, and a word for people where it has not.

use std::env;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;
use std::thread;

/// Where servers and tools for root are, which a user's `PATH` may lack.
const SBIN: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Tells people something on standard error, also when the test passes.
pub fn note(text: &str) {
    // Not by eprintln: the test harness would keep it for itself. Nobody may be listening.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Tells people why this test, or a part of it, is skipped.
pub fn skip(why: impl Display) {
    // Tests run on threads that bear their names.
    let thread = thread::current();
    note(&format!("skipped: {}: {why}", thread.name().unwrap_or("a test")));
}

/// Where a program is installed; `None`, and a word why the test is skipped, if it is not.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut files =
        env::split_paths(&path).chain(SBIN.map(PathBuf::from)).map(|dir| dir.join(name));
    let found = files.find(|file| file.is_file());
    if found.is_none() {
        skip(format_args!("{name} is not installed (for proxies: scripts/install-peers.sh)"));
    }
    found
}

/// Whether a program is installed; says why the test is skipped if it is not.
pub fn installed(name: &str) -> bool {
    program(name).is_some()
}

/// Whether we are root, without whom `what` cannot be; says why the test is skipped if we are not.
pub fn is_root(what: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skip(format_args!("{what} needs root"));
    }
    root
}
