//! A trial as a process of its own, started by a campaign or a show.
//!
//! Not for: the roles of a trial; those are `stage`'s.

use std::env;
use std::path::Path;
use std::process::Command;

/// The first of the options that the starting process adds: all that follow are its own, too.
const STARTED_BY: &str = "--parent-pid";

/// This program, also after its file was replaced: proc(5).
pub(crate) const PROGRAM: &str = "/proc/self/exe";

/// `turnstile run` with these options, quiet, in `runs_dir`. More options may be added.
pub(crate) fn command(options: &[String], runs_dir: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    if let Some(name) = env::args_os().next() {
        std::os::unix::process::CommandExt::arg0(&mut command, name);
    }
    command.arg("run").args(options);
    command.args([STARTED_BY, &std::process::id().to_string()]);
    command.args(["--json", "--quiet", "--runs-dir"]).arg(runs_dir);
    command
}

/// The command line of a trial as people type it: without what [`command`] adds to their options.
pub(crate) fn by_hand(mut words: Vec<String>) -> Vec<String> {
    if let Some(at) = words.iter().rposition(|word| word == STARTED_BY) {
        words.truncate(at);
    }
    words
}

#[cfg(test)]
mod tests;
