//! A trial as a process of its own, started by a campaign or a show.
//!
//! Not for: the roles of a trial; those are the crate `trial`'s.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, io};

use net::child::{Child, Dropped, Event};
use trial::roles::PROGRAM;

/// The first of the options that the starting process adds: all that follow are its own, too.
const STARTED_BY: &str = "--parent-pid";

/// How long a trial may take to stop when it is asked to: it stops its own children within 2 s and
/// makes its report. This is for a host that is very busy.
const STOPS_WITHIN: Duration = Duration::from_secs(30);

/// `turnstile run` with these options, quiet, in `runs_dir`. More options may be added.
pub(crate) fn command(options: &[String], runs_dir: &Path) -> Command {
    let mut command = Command::new(PROGRAM);
    if let Some(name) = env::args_os().next() {
        std::os::unix::process::CommandExt::arg0(&mut command, name);
    }
    command.arg("run").args(options);
    command.args([STARTED_BY, &std::process::id().to_string()]);
    command.args(["--json", "--quiet", "--runs-dir"]).arg(runs_dir);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Starts a [`command`]; `ended` is called when it has ended, on another thread. Dropped, it stops in
/// good order.
///
/// # Errors
/// The process or its thread could not be made.
pub(crate) fn start(
    mut command: Command,
    ended: impl FnOnce() + Send + 'static,
) -> io::Result<Child> {
    let mut ended = Some(ended);
    Child::start(&mut command, "trial".to_owned(), Dropped::Asked(STOPS_WITHIN), move |event| {
        if let Event::Ended(_) = event {
            ended.take().into_iter().for_each(|ended| ended());
        }
    })
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
