//! What this host must have for a test, a word for people where it has not, and commands that a test makes up.

use std::env;
use std::fmt::Display;
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
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

/// Writes `text` to the file `name` below `dir`, for anybody to run; says where it is.
pub fn script(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    fs::write(&path, text).expect("written");
    fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("executable");
    path
}

/// The same program with the same arguments, which may have so many descriptors open.
pub fn with_open_files(limit: u32, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -n {limit} && exec \"$0\" \"$@\"")]);
    shell.arg(command.get_program()).args(command.get_args());
    shell
}
