//! A check as text, as Markdown and as annotations; `ci` has it as JUnit.

use records::count;
use stats::Change;

use super::compare::{gate, left_out, metrics};
use super::layout::{Style, Tint};
use super::sheet::Sheet;
use crate::table::{Table, cell};
use analysis::guard::baseline::Against;
use analysis::guard::rounds::OverRounds;
use analysis::guard::threshold::Held;
use analysis::guard::{Check, Gate};

/// The whole of it as text, with a newline after each line.
pub fn check(check: &Check, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    gate(&mut sheet, "check", check.outcome, check.word(), check.exit_code);
    sheet.list("", beside_the_table(check));
    if let Some(program) = &check.program {
        let version = if program.version.is_empty() { &program.name } else { &program.version };
        sheet.labelled("proxy", &format!("{version} ({})", program.path.display()));
    }
    if !check.thresholds.is_empty() {
        sheet.section();
        sheet.table(&thresholds(check));
    }
    if let Some(against) = &check.baseline {
        baseline(&mut sheet, against);
    }
    sheet.section();
    sheet.labelled("rounds", &rounds(check));
    sheet.list("saved", check.saved.iter().map(|path| path.display().to_string()));
    sheet.whole("records", check.records.display());
    sheet.finish()
}

/// What is to be said beside the table of thresholds, which has what became of each.
fn beside_the_table(check: &Check) -> impl Iterator<Item = &String> {
    let rows: Vec<String> = check.thresholds.iter().filter_map(OverRounds::reason).collect();
    let reasons = check.reasons.iter().filter(move |reason| !rows.contains(reason));
    reasons.chain(&check.errors)
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
    for over in &check.thresholds {
        let OverRounds { decided: Held { threshold, outcome, found, .. }, .. } = over;
        let outcome = match outcome {
            Gate::Passed => "\u{2713} met",
            Gate::Breached => "\u{2717} breached",
            Gate::Inconclusive => "? unknown",
        };
        let counts = format!("{}/{}/{}", over.met, over.breached, over.unknown);
        table.row([threshold.as_str(), found, outcome, &counts]);
    }
    if check.rounds.wanted > 1 { table } else { table.without(&[counts]) }
}

fn baseline(sheet: &mut Sheet, against: &Against) {
    let judgement = &against.judgement;
    let tint = match against.outcome {
        Gate::Breached => Tint::Bad,
        Gate::Inconclusive => Tint::Warn,
        Gate::Passed if against.change() == Change::Improved => Tint::Good,
        Gate::Passed => Tint::Label,
    };
    let change = sheet.paint(tint, against.change().name());
    let (file, saved) = (against.file.display(), &against.saved_at);
    sheet.section();
    sheet.whole("baseline", format!("{file} of {saved}: {change}"));
    let left_out = judgement.left_out.iter().map(left_out);
    let differs = against.differs.iter().map(|differs| format!("not as then: {differs}"));
    let said = against.doubts.iter().cloned().chain(left_out).chain(differs);
    said.for_each(|said| sheet.prose(2, &said));
    sheet.table(&metrics(judgement, ["then", "now"]));
}

fn rounds(check: &Check) -> String {
    let (rounds, trials) = (check.rounds, count(check.trials.len() as u64, "trial", "trials"));
    let mut said = format!("{} of {} conclusive, {trials}", rounds.conclusive, rounds.wanted);
    if rounds.retried > 0 {
        said += &format!(", {} of them tried again", rounds.retried);
    }
    said
}

#[cfg(test)]
mod tests;
