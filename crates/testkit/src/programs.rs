//! What this host must have for a test, and a word for people where it has not.

use std::env;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;
use std::thread;

/// Where servers and tools for root are, which a user's `PATH` may lack.
const SBIN: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// What `.ci/run` does not install: tests that need one of these are skipped in CI too.
const NOT_IN_CI: [&str; 3] = ["apache2", "caddy", "h2o"];

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
///
/// In CI (`CI=true` in the environment) a test that is skipped for want of a program fails instead:
/// nobody reads there what is skipped.
#[track_caller]
pub fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut files =
        env::split_paths(&path).chain(SBIN.map(PathBuf::from)).map(|dir| dir.join(name));
    let found = files.find(|file| file.is_file());
    if found.is_none() {
        let why = format!("{name} is not installed (for proxies: scripts/install-servers.sh)");
        let in_ci = env::var_os("CI").is_some_and(|ci| ci == "true");
        assert!(!in_ci || NOT_IN_CI.contains(&name), "{why}, and in CI it must be");
        skip(why);
    }
    found
}

/// Whether a program is installed; says why the test is skipped, or fails, as [`program`] does.
#[track_caller]
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
