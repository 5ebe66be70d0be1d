//! Arms in a table, as text and as Markdown.

use records::{ArmRow, BytesPerSec, Micros, Verdict};

use super::layout::{MaxLines, wrap};
use super::style::{Style, Tint};

/// The table as text, 100 columns wide, with a newline after each line.
pub fn arms(rows: &[ArmRow], style: Style) -> String {
    let names =
        ["arm", "p50", "p90", "p99", "max", "failed", "slow/s", "turn", "CPU/GB", "verdicts"];
    let mut lines = vec![
        line(["", "fetch", "", "", "", "", "", "longest", "", ""]),
        style.paint(Tint::Label, &line(names)),
    ];
    for row in rows {
        let figures = Figures::of(row);
        // Names often differ in their last word only.
        let mut name = wrap(&row.name, NAME - 1, MaxLines(4)).into_iter();
        let first = name.next().unwrap_or_default();
        let Figures { p50, p90, p99, max, failed, slow, turn, cpu, .. } = &figures;
        lines.push(line([&first, p50, p90, p99, max, failed, slow, turn, cpu, &most(row)]));
        lines.extend(name);
    }
    lines.into_iter().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// The same without what the metrics of a comparison tell, below it: two tables of the same figure,
/// each averaged in its own way, would be two figures.
pub(super) fn compared(rows: &[ArmRow], style: Style) -> String {
    let line = |[name, failed, turn, cpu, verdicts]: [&str; 5]| {
        let text = format!("{name:<40}{failed:>10}{turn:>14}{cpu:>9}  {verdicts}");
        text.trim_end().to_owned() + "\n"
    };
    let mut text =
        style.paint(Tint::Label, &line(["arm", "failed", "longest turn", "CPU/GB", "verdicts"]));
    for row in rows {
        let Figures { failed, turn, cpu, .. } = Figures::of(row);
        text += &line([&row.name, &failed, &turn, &cpu, &most(row)]);
    }
    text
}

/// The same as Markdown.
pub(super) fn compared_markdown(rows: &[ArmRow]) -> String {
    let mut text = String::from(
        "| arm | version | trials | verdicts | failed | 499 | longest turn | bytes a step | CPU for a \
         GB |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let Figures { failed, early, turn, cpu, verdicts, .. } = Figures::of(row);
        let name = row.name.replace('|', "\\|");
        let (version, trials) = (row.version.as_deref().unwrap_or("-"), row.trials);
        let step = row.bytes_per_step.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
        text += &format!(
            "| {name} | {version} | {trials} | {verdicts} | {failed} | {early} | {turn} | {step} | {cpu} |\n"
        );
    }
    text
}

/// The table as Markdown.
pub fn arms_markdown(rows: &[ArmRow]) -> String {
    let mut text = String::from(
        "| arm | version | trials | verdicts | fetch p50 | p90 | p99 | max | failed | 499 | \
         downloads | longest turn | bytes a step | CPU for a GB |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let Figures { p50, p90, p99, max, failed, early, slow, turn, cpu, verdicts } =
            Figures::of(row);
        let name = row.name.replace('|', "\\|");
        let (version, trials) = (row.version.as_deref().unwrap_or("-"), row.trials);
        let step = row.bytes_per_step.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
        text += &format!(
            "| {name} | {version} | {trials} | {verdicts} | {p50} | {p90} | {p99} | {max} | \
             {failed} | {early} | {slow} | {turn} | {step} | {cpu} |\n"
        );
    }
    text
}

/// Columns of an arm's name; what is longer goes on below.
const NAME: usize = 16;

/// The verdict of most trials, and of how many if not of all.
fn most(row: &ArmRow) -> String {
    let Some((verdict, trials)) = row.verdicts.iter().max_by_key(|(_, trials)| **trials) else {
        return "-".to_owned();
    };
    if *trials == row.trials {
        format!("{trials} {verdict}")
    } else {
        format!("{trials}/{} {verdict}", row.trials)
    }
}

/// A row with its units.
struct Figures {
    p50: String,
    p90: String,
    p99: String,
    max: String,
    failed: String,
    early: String,
    slow: String,
    turn: String,
    cpu: String,
    verdicts: String,
}

impl Figures {
    fn of(row: &ArmRow) -> Self {
        let none = || "-".to_owned();
        let time = |time: Micros| if row.trials == 0 { none() } else { time.to_string() };
        let known = |time: Option<Micros>| time.map_or_else(none, |time| time.to_string());
        let verdict = |(verdict, trials): (&Verdict, &u64)| format!("{trials} {verdict}");
        let verdicts: Vec<String> = row.verdicts.iter().map(verdict).collect();
        Self {
            p50: time(row.p50),
            p90: time(row.p90),
            p99: time(row.p99),
            max: time(row.max),
            failed: if row.trials == 0 { none() } else { format!("{}/{}", row.failed, row.tried) },
            early: row.early_closes.map_or_else(none, |closes| closes.to_string()),
            slow: if row.slow_rate == BytesPerSec(0) { none() } else { row.slow_rate.to_string() },
            turn: known(row.longest_turn),
            cpu: known(row.cpu_per_gb),
            verdicts: verdicts.join(", "),
        }
    }
}

fn line(cells: [&str; 10]) -> String {
    let [name, p50, p90, p99, max, failed, slow, turn, cpu, verdicts] = cells;
    format!(
        "{name:<NAME$}{p50:>8} {p90:>8} {p99:>8} {max:>8} {failed:>7} {slow:>8} {turn:>7} {cpu:>7}  \
         {verdicts}"
    )
}

#[cfg(test)]
mod tests;
