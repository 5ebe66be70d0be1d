//! Annotations: lines that GitHub's runner takes from a step's output
//! (<https://docs.github.com/actions/reference/workflow-commands-for-github-actions>).

use analysis::guard::{Check, Gate};

/// One line for each reason of a check that did not pass, one notice for each of one that did (a
/// warning, if only at a later attempt), one
/// error for what could not be written; a newline after each.
pub fn annotations(check: &Check) -> String {
    let level = match check.outcome {
        Gate::Passed if check.is_flaky() => "warning",
        Gate::Passed => "notice",
        Gate::Breached => "error",
        Gate::Inconclusive => "warning",
    };
    let title = property(&format!("turnstile check: {}", check.word()));
    let line = |level: &str, said: &String| format!("::{level} title={title}::{}\n", data(said));
    let reasons = check.reasons.iter().map(|reason| line(level, reason));
    reasons.chain(check.errors.iter().map(|error| line("error", error))).collect()
}

/// Letters that would end the line or begin an escape.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Those, and the ones that end a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
