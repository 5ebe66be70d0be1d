//! The command to try next: chosen by verdict and arm, from a table.

use records::{Arm, ProxyKind, Rcvbuf, ReadPolicy, Summary, Verdict};

/// What to run next, and what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Next {
    /// The command's words, program first.
    pub(crate) command: Vec<String>,
    /// What it would show.
    pub(crate) why: &'static str,
}

/// The first row of [`SUGGESTIONS`] that fits.
pub(crate) fn next(command: &[String], summary: &Summary) -> Next {
    let state = State::of(summary);
    let fitting = SUGGESTIONS
        .iter()
        .find(|row| row.verdicts.contains(&summary.verdict) && row.states.contains(&state));
    let (edits, why) = fitting.map_or((DOCTOR, CHECK), |row| (row.edits, row.why));
    Next { command: edits.iter().fold(command.to_vec(), |command, edit| edit.apply(command)), why }
}

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

/// One row: where it fits, and what to change.
struct Suggestion {
    verdicts: &'static [Verdict],
    states: &'static [State],
    edits: &'static [Edit],
    why: &'static str,
}

const ANY: &[Verdict] =
    &[Verdict::Starved, Verdict::Degraded, Verdict::Healthy, Verdict::Inconclusive];

const RCVBUF: Edit = Edit::Set("--rcvbuf", "40960");
const FIONREAD: Edit = Edit::Set("--read-policy", "fionread");
const QUOTA: Edit = Edit::Set("--read-policy", "bytes:64KiB");
const DOCTOR: &[Edit] = &[Edit::Subcommand("doctor")];
const CHECK: &str = "what this machine can and cannot show";

const SUGGESTIONS: &[Suggestion] = &[
    Suggestion {
        verdicts: ANY,
        states: &[State::Interrupted],
        edits: &[],
        why: "the same run, to its end",
    },
    Suggestion {
        verdicts: &[Verdict::Starved, Verdict::Degraded, Verdict::Healthy],
        states: &[State::Foreign],
        edits: &[Edit::Subcommand("zoo")],
        why: "the same load over every proxy that is installed here",
    },
    Suggestion {
        verdicts: &[Verdict::Starved, Verdict::Degraded],
        states: &[State::Shared, State::Reuseport],
        edits: &[RCVBUF],
        why: "the published cure: a receive buffer that runs empty",
    },
    Suggestion {
        verdicts: &[Verdict::Starved],
        states: &[State::Rcvbuf],
        edits: &[FIONREAD],
        why: "another cure: what nginx does from 1.17.5 on",
    },
    Suggestion {
        verdicts: &[Verdict::Starved],
        states: &[State::Policy],
        edits: &[QUOTA],
        why: "another cure: a quota of bytes for each step",
    },
    Suggestion {
        verdicts: &[Verdict::Degraded],
        states: &[State::Rcvbuf, State::Policy],
        edits: &[QUOTA],
        why: "shorter steps: a quota of bytes for each",
    },
    Suggestion {
        verdicts: &[Verdict::Healthy],
        states: &[State::Rcvbuf],
        edits: &[Edit::Remove("--rcvbuf"), FIONREAD],
        why: "another cure, without the buffer: what nginx does from 1.17.5 on",
    },
    Suggestion {
        verdicts: &[Verdict::Healthy],
        states: &[State::Policy, State::Quota],
        edits: &[Edit::Remove("--read-policy")],
        why: "the same load without the cure",
    },
    Suggestion {
        verdicts: &[Verdict::Healthy],
        states: &[State::NoLoad],
        edits: &[Edit::Remove("--slow")],
        why: "the same fetches beside downloads",
    },
    Suggestion {
        verdicts: &[Verdict::Healthy],
        states: &[State::Shared],
        edits: &[Edit::Flag("--reuseport")],
        why: "a listener for each worker: no free worker can help out",
    },
];

/// The command as it is typed in a shell.
pub(crate) fn quoted(command: &[String]) -> Vec<String> {
    let safe = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,@%+".contains(letter);
    let quote = |word: &String| {
        if !word.is_empty() && word.chars().all(safe) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    command.iter().map(quote).collect()
}

#[cfg(test)]
mod tests;
