//! The command to try next: chosen by verdict and arm, from a table.

use records::{Arm, ProxyKind, Rcvbuf, ReadPolicy, Summary, Verdict, shell_line};

/// What to run next.
enum Next {
    /// Another command of ours.
    Command(&'static [&'static str]),
    /// The same without these options, each with its value, and then with these words.
    Same(&'static [&'static str], &'static [&'static str]),
}

/// What is one run's own.
const OWN: &[&str] = &["--label", "--output", "-o"];

/// The command to try after `command`, and behind a `#` what it would show: a line for a shell.
pub(crate) fn line(command: &[String], summary: &Summary) -> String {
    let (next, why) = suggestion(State::of(summary), summary.verdict);
    let words: Vec<String> = match next {
        Next::Command(words) => {
            let program = command.first().map_or("turnstile", String::as_str);
            [program].iter().chain(words).map(|&word| word.to_owned()).collect()
        }
        Next::Same(without, with) => {
            // Another run has a name of its own, and does not take the place of this one's file.
            let own: &[&str] = if (without, with) == (&[], &[]) { &[] } else { OWN };
            let out = without.iter().chain(own);
            let kept = out.fold(command.to_vec(), |words, option| remove(words, option));
            kept.into_iter().chain(with.iter().map(|word| (*word).to_owned())).collect()
        }
    };
    format!("{}  # {why}", shell_line(&words))
}

/// What to change, and what that would show.
fn suggestion(state: State, verdict: Verdict) -> (Next, &'static str) {
    const RCVBUF: Next = Next::Same(&["--rcvbuf"], &["--rcvbuf", "40960"]);
    const FIONREAD: Next = Next::Same(&["--read-policy"], &["--read-policy", "fionread"]);
    const QUOTA: Next = Next::Same(&["--read-policy"], &["--read-policy", "bytes:64KiB"]);
    const FIONREAD_ALONE: Next =
        Next::Same(&["--rcvbuf", "--read-policy"], &["--read-policy", "fionread"]);
    use State::{Foreign, Interrupted, NoLoad, Policy, Quota, Reuseport, Shared};
    use Verdict::{Degraded, Healthy, Inconclusive, Starved};
    let check = (Next::Command(&["report", "-v"]), "every figure, and every reason to doubt it");
    match (state, verdict) {
        (Interrupted, _) => (Next::Same(&[], &[]), "the same run, to its end"),
        (_, Inconclusive) => check,
        (Foreign, Starved | Degraded) => {
            (Next::Command(&["explain"]), "what held them; cures by server: docs/fix-it.md")
        }
        (Foreign, Healthy) => (Next::Command(&["case", "list"]), "what starves elsewhere"),
        (Shared | Reuseport, Starved | Degraded) => (RCVBUF, "the published cure"),
        (State::Rcvbuf, Starved) => (FIONREAD, "another cure: nginx's since 1.17.5"),
        (Policy, Starved) => (QUOTA, "another cure: a quota of bytes"),
        (State::Rcvbuf | Policy, Degraded) => (QUOTA, "shorter steps"),
        (State::Rcvbuf, Healthy) => (FIONREAD_ALONE, "another cure: nginx's since 1.17.5"),
        (Policy | Quota, Healthy) => (Next::Same(&["--read-policy"], &[]), "without the cure"),
        (NoLoad, Healthy) => (Next::Same(&["--slow"], &[]), "the same beside downloads"),
        (Shared, Healthy) => (Next::Same(&[], &["--reuseport"]), "no free worker can help out"),
        (Reuseport, Healthy) | (Quota | NoLoad, Starved | Degraded) => check,
    }
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
