//! The command to try next: chosen by verdict and arm, from a table.

use records::{Arm, ProxyKind, Rcvbuf, ReadPolicy, Summary, Verdict, shell_line};

/// What to run next, and what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Next {
    /// The command's words, program first.
    pub(crate) command: Vec<String>,
    /// What it would show.
    pub(crate) why: &'static str,
}

/// The command to try after `command`, and behind a `#` what it would show: a line for a shell.
pub(crate) fn line(command: &[String], summary: &Summary) -> String {
    let Next { command, why } = next(command, summary);
    format!("{}  # {why}", shell_line(&command))
}

/// What to try after `command`, which had this summary.
fn next(command: &[String], summary: &Summary) -> Next {
    let (edits, why) = suggestion(State::of(summary), summary.verdict);
    // Another run has a name of its own, and does not take the place of this one's file.
    let own = ["--label", "--output", "-o"].map(Edit::Remove);
    let own = if edits.is_empty() { &[][..] } else { &own };
    let command = own.iter().chain(edits).fold(command.to_vec(), |words, edit| edit.apply(words));
    Next { command, why }
}

/// What to change, and what that would show.
fn suggestion(state: State, verdict: Verdict) -> (&'static [Edit], &'static str) {
    const RCVBUF: Edit = Edit::Set("--rcvbuf", "40960");
    const FIONREAD: Edit = Edit::Set("--read-policy", "fionread");
    const QUOTA: Edit = Edit::Set("--read-policy", "bytes:64KiB");
    const REMOVE_RCVBUF: Edit = Edit::Remove("--rcvbuf");
    use State::{Foreign, Interrupted, NoLoad, Policy, Quota, Reuseport, Shared};
    use Verdict::{Degraded, Healthy, Inconclusive, Starved};
    match (state, verdict) {
        (Interrupted, _) => (&[], "the same run, to its end"),
        (_, Inconclusive) => (DOCTOR, CHECK),
        (Foreign, _) => {
            (&[Edit::Subcommand("zoo")], "the same load over every server installed here")
        }
        (Shared | Reuseport, Starved | Degraded) => (&[RCVBUF], "the published cure"),
        (State::Rcvbuf, Starved) => (&[FIONREAD], "another cure: nginx's since 1.17.5"),
        (Policy, Starved) => (&[QUOTA], "another cure: a quota of bytes"),
        (State::Rcvbuf | Policy, Degraded) => (&[QUOTA], "shorter steps"),
        (State::Rcvbuf, Healthy) => {
            (&[REMOVE_RCVBUF, FIONREAD], "another cure: nginx's since 1.17.5")
        }
        (Policy | Quota, Healthy) => (&[Edit::Remove("--read-policy")], "without the cure"),
        (NoLoad, Healthy) => (&[Edit::Remove("--slow")], "the same beside downloads"),
        (Shared, Healthy) => (&[Edit::Flag("--reuseport")], "no free worker can help out"),
        (Reuseport, Healthy) | (Quota | NoLoad, Starved | Degraded) => (DOCTOR, CHECK),
    }
}

const DOCTOR: &[Edit] = &[Edit::Subcommand("doctor")];
const CHECK: &str = "what this machine can show";

/// What of an arm decides where to look next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The run was cut short.
    Interrupted,
    /// Not the mirror: its toggles are not ours.
    Foreign,
    /// No load at all.
    NoLoad,
    /// nginx's old loop, buffers left to the kernel, one listener shared.
    Shared,
    /// The same with a listener for each worker.
    Reuseport,
    /// A receive buffer was set; the loop still drains.
    Rcvbuf,
    /// The read policy ends steps by a quota.
    Quota,
    /// The read policy ends steps by what the socket tells.
    Policy,
}

impl State {
    fn of(summary: &Summary) -> Self {
        let arm: &Arm = &summary.arm;
        if summary.interrupted.is_some() {
            return Self::Interrupted;
        }
        if arm.server.kind != ProxyKind::Mirror {
            return Self::Foreign;
        }
        if arm.load.slow == 0 {
            return Self::NoLoad;
        }
        match arm.proxy.read_policy {
            ReadPolicy::Drain if arm.rcvbuf().is_some_and(|size| size < Rcvbuf::ROOMY) => {
                Self::Rcvbuf
            }
            ReadPolicy::Drain if arm.proxy.reuseport => Self::Reuseport,
            ReadPolicy::Drain => Self::Shared,
            policy if policy.is_quota() => Self::Quota,
            _ => Self::Policy,
        }
    }
}

/// A change to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edit {
    /// Only the program is kept; this subcommand follows it.
    Subcommand(&'static str),
    /// An option with this value, in place of any it had.
    Set(&'static str, &'static str),
    /// A flag.
    Flag(&'static str),
    /// No such option.
    Remove(&'static str),
}

impl Edit {
    fn apply(self, mut command: Vec<String>) -> Vec<String> {
        match self {
            Self::Subcommand(name) => {
                command.truncate(1);
                if command.is_empty() {
                    command.push("turnstile".to_owned());
                }
                command.push(name.to_owned());
                command
            }
            Self::Set(option, value) => {
                command = remove(command, option);
                command.extend([option.to_owned(), value.to_owned()]);
                command
            }
            Self::Flag(flag) => {
                command.push(flag.to_owned());
                command
            }
            Self::Remove(option) => remove(command, option),
        }
    }
}

/// Takes out `--option value` and `--option=value`.
fn remove(command: Vec<String>, option: &str) -> Vec<String> {
    let mut words = command.into_iter();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        if word == option {
            words.next();
        } else if !word.strip_prefix(option).is_some_and(|rest| rest.starts_with('=')) {
            kept.push(word);
        }
    }
    kept
}

#[cfg(test)]
mod tests;
