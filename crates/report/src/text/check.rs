//! A check as text, as Markdown and as annotations; `ci` has it as JUnit.

use stats::Change;

use super::compare::{left_out, metrics};
use super::layout::{MaxLines, Style, Tint, WIDTH, label, labelled, wrap};
use crate::table::Table;
use analysis::guard::baseline::Against;
use analysis::guard::rounds::OverRounds;
use analysis::guard::{Check, Gate};

/// The whole of it as text, with a newline after each line.
pub fn check(check: &Check, style: Style) -> String {
    let mut lines = vec![gate_line("check", check.outcome, check.word(), check.exit_code, style)];
    for reason in beside_the_table(check) {
        lines.extend(labelled(style, "", reason, MaxLines(3)));
    }
    if let Some(program) = &check.program {
        let version = if program.version.is_empty() { &program.name } else { &program.version };
        let said = format!("{version} ({})", program.path.display());
        lines.extend(labelled(style, "proxy", &said, MaxLines(2)));
    }
    if !check.thresholds.is_empty() {
        lines.push(String::new());
        lines.extend(thresholds(check).lines(style));
    }
    if let Some(against) = &check.baseline {
        lines.push(String::new());
        lines.extend(baseline(against, style));
    }
    lines.push(String::new());
    lines.extend(labelled(style, "rounds", &rounds(check), MaxLines(2)));
    if let Some(path) = &check.saved {
        lines.extend(labelled(style, "saved", &path.display().to_string(), MaxLines(2)));
    }
    // Not wrapped: it is there to be copied.
    let label = label(style, "records");
    lines.push(format!("{label}{}", check.records.display()));
    lines.into_iter().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// What is to be said beside the table of thresholds, which has what became of each.
fn beside_the_table(check: &Check) -> impl Iterator<Item = &String> {
    let rows: Vec<String> = check.thresholds.iter().filter_map(OverRounds::reason).collect();
    let reasons = check.reasons.iter().filter(move |reason| !rows.contains(reason));
    reasons.chain(&check.errors)
}

/// What a gate says and the process ends with, in a line without its end.
pub(super) fn gate(label: &str, gate: Gate, exit_code: u8, style: Style) -> String {
    gate_line(label, gate, gate.name(), exit_code, style)
}

fn gate_line(name: &str, gate: Gate, word: &str, exit_code: u8, style: Style) -> String {
    let tint = match gate {
        Gate::Passed => Tint::Good,
        Gate::Breached => Tint::Bad,
        Gate::Inconclusive => Tint::Warn,
    };
    format!("{}{} (exit {exit_code})", label(style, name), style.paint(tint, word),)
}

/// The same as Markdown: the file of `--markdown`, and the step summary of GitHub.
pub fn check_markdown(check: &Check) -> String {
    let mut text = format!("### turnstile check: {}\n\n", check.word());
    for reason in beside_the_table(check) {
        text += &format!("- {}\n", cell(reason));
    }
    if !check.thresholds.is_empty() {
        text += "\n";
        text += &thresholds(check).markdown();
    }
    if let Some(against) = &check.baseline {
        text += &format!(
            "\nAgainst the baseline of {}: **{}**.\n\n",
            against.saved_at,
            against.change()
        );
        text += &metrics(&against.judgement, ["then", "now"]).markdown();
    }
    let arm = cell(&check.arm.to_string());
    text + &format!(
        "\n{}. Options: `{arm}`. Records: `{}`\n",
        rounds(check),
        check.records.display()
    )
}

/// Lines that GitHub's runner takes from a step's output
/// (<https://docs.github.com/actions/reference/workflow-commands-for-github-actions>): one for each reason of a check that did not pass, one notice for each of one that did (a
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

/// Thresholds, and what became of each: a tick before one that held, a cross before one that did not.
fn thresholds(check: &Check) -> Table {
    let counts = "met/breached/unknown";
    let mut table = Table::new(["threshold", "found", "outcome", counts]);
    for held in &check.thresholds {
        let OverRounds { threshold, found, met, breached, unknown, .. } = held;
        let mark = match held.outcome {
            Gate::Passed => '\u{2713}',
            Gate::Breached => '\u{2717}',
            Gate::Inconclusive => '?',
        };
        let outcome = format!("{mark} {}", word(held.outcome));
        let counts = format!("{met}/{breached}/{unknown}");
        table.row([threshold.clone(), found.clone(), outcome, counts]);
    }
    if check.rounds.wanted > 1 { table } else { table.without(&[counts]) }
}

fn baseline(against: &Against, style: Style) -> Vec<String> {
    let judgement = &against.judgement;
    let tint = match against.outcome {
        Gate::Breached => Tint::Bad,
        Gate::Inconclusive => Tint::Warn,
        Gate::Passed if against.change() == Change::Improved => Tint::Good,
        Gate::Passed => Tint::Label,
    };
    let mut lines = vec![format!(
        "{}{} of {}: {}",
        label(style, "baseline"),
        against.file.display(),
        against.saved_at,
        style.paint(tint, against.change().name())
    )];
    let left_out = judgement.left_out.iter().map(left_out);
    let differs = against.differs.iter().map(|differs| format!("not as then: {differs}"));
    let doubts = against.doubts.iter().cloned();
    for said in doubts.chain(left_out).chain(differs) {
        lines.extend(wrap(&said, WIDTH - 2, MaxLines(2)).iter().map(|line| format!("  {line}")));
    }
    lines.extend(metrics(judgement, ["then", "now"]).lines(style));
    lines
}

fn rounds(check: &Check) -> String {
    let (rounds, trials) = (check.rounds, check.trials.len());
    let plural = if trials == 1 { "" } else { "s" };
    let mut said =
        format!("{} of {} conclusive, {trials} trial{plural}", rounds.conclusive, rounds.wanted);
    if rounds.retried > 0 {
        said += &format!(", {} of them tried again", rounds.retried);
    }
    said
}

pub(super) const fn word(outcome: Gate) -> &'static str {
    match outcome {
        Gate::Passed => "met",
        Gate::Breached => "breached",
        Gate::Inconclusive => "unknown",
    }
}

/// A text in a cell of a table: on one line, without a column's end.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests;
