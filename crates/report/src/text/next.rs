//! The command to try next: chosen by verdict and arm, from a table.

use records::{Arm, ProxyKind, Rcvbuf, ReadPolicy, Summary, Verdict, shell_line};

/// What to run next.
enum Next {
    /// Another command of ours.
    Command(&'static str),
    /// The same without these options, each with its value, and then with these words.
    Same(&'static [&'static str], &'static str),
}

/// What is one run's own.
const OWN: &[&str] = &["--label", "--output", "-o"];

/// The command to try after `command`, and behind a `#` what it would show: a line for a shell.
pub(crate) fn line(command: &[String], summary: &Summary) -> String {
    let (next, why) = suggestion(summary);
    let split = |words: &str| words.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let words = match next {
        Next::Command(words) => {
            let program = command.first().map_or("turnstile", String::as_str);
            [vec![program.to_owned()], split(words)].concat()
        }
        Next::Same(without, with) => {
            // Another run has a name of its own, and does not take the place of this one's file.
            let own: &[&str] = if (without, with) == (&[], "") { &[] } else { OWN };
            let out = without.iter().chain(own);
            let kept = out.fold(command.to_vec(), |words, option| remove(words, option));
            [kept, split(with)].concat()
        }
    };
    format!("{}  # {why}", shell_line(&words))
}

/// What to change, and what that would show.
fn suggestion(summary: &Summary) -> (Next, &'static str) {
    use Verdict::{Healthy, Inconclusive, Starved};
    const POLICY: &[&str] = &["--read-policy"];
    const FIONREAD: &str = "--read-policy fionread";
    const QUOTA: Next = Next::Same(POLICY, "--read-policy bytes:64KiB");
    let Arm { server, proxy, load, .. } = &summary.arm;
    let check = (Next::Command("report -v"), "every figure, and every reason to doubt it");
    if summary.interrupted.is_some() {
        return (Next::Same(&[], ""), "the same run, to its end");
    }
    let is_foreign = server.kind != ProxyKind::Mirror;
    let is_small = summary.arm.rcvbuf().is_some_and(|size| size < Rcvbuf::ROOMY);
    match (proxy.read_policy, summary.verdict) {
        (_, Inconclusive) => check,
        (_, Healthy) if is_foreign => (Next::Command("case list"), "what starves elsewhere"),
        _ if is_foreign => {
            (Next::Command("explain"), "what held them; cures by server: docs/fix-it.md")
        }
        (_, Healthy) if load.slow == 0 => {
            (Next::Same(&["--slow"], ""), "the same beside downloads")
        }
        _ if load.slow == 0 => check,
        (ReadPolicy::Drain, Healthy) if is_small => {
            let out = &["--rcvbuf", "--read-policy"];
            (Next::Same(out, FIONREAD), "another cure: nginx's since 1.17.5")
        }
        (ReadPolicy::Drain, Healthy) if proxy.reuseport => check,
        (ReadPolicy::Drain, Healthy) => {
            (Next::Same(&[], "--reuseport"), "no free worker can help out")
        }
        (_, Healthy) => (Next::Same(POLICY, ""), "without the cure"),
        (ReadPolicy::Drain, _) if !is_small => {
            (Next::Same(&["--rcvbuf"], "--rcvbuf 40960"), "the published cure")
        }
        (ReadPolicy::Drain, Starved) => {
            (Next::Same(POLICY, FIONREAD), "another cure: nginx's since 1.17.5")
        }
        (policy, _) if policy.is_quota() => check,
        (_, Starved) => (QUOTA, "another cure: a quota of bytes"),
        _ => (QUOTA, "shorter steps"),
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
