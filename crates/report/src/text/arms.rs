//! Arms in a table, as text and as Markdown; and a case: its words, its arms, and their figures beside the
//! published ones.

use std::path::Path;

use records::{ArmRow, BytesPerSec, Verdict};

use super::layout::{MaxLines, Style, Tint, WIDTH, wrap};
use crate::campaign::{Case, CaseArm, CaseFigure};

/// The table as text, 100 columns wide, with a newline after each line.
pub(crate) fn arms(rows: &[ArmRow], style: Style) -> String {
    let names =
        ["arm", "p50", "p90", "p99", "max", "failed", "slow/s", "turn", "CPU/GB", "verdicts"];
    let mut lines = vec![
        line(["", "fetch", "", "", "", "", "", "longest", "", ""]),
        style.paint(Tint::Label, &line(names)),
    ];
    for row in rows {
        // Names often differ in their last word only.
        let mut name = wrap(&row.name, NAME - 1, MaxLines(4)).into_iter();
        let first = name.next().unwrap_or_default();
        let [.., p50, p90, p99, max, failed, _, slow, turn, _, cpu] = &cells(row);
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
        let [.., failed, _, _, turn, _, cpu] = &cells(row);
        text += &line([&row.name, failed, turn, cpu, &most(row)]);
    }
    text
}

/// The table as Markdown.
pub fn arms_markdown(rows: &[ArmRow]) -> String {
    markdown(rows, &[])
}

/// The same without what the metrics of a comparison tell.
pub(super) fn compared_markdown(rows: &[ArmRow]) -> String {
    markdown(rows, &["fetch p50", "p90", "p99", "max", "downloads"])
}

fn markdown(rows: &[ArmRow], without: &[&str]) -> String {
    let line = |cells: [&str; 14]| {
        let shown = HEADS.iter().zip(cells).filter(|(head, _)| !without.contains(head));
        shown.map(|(_, cell)| format!("| {} ", cell.replace('|', "\\|"))).collect::<String>()
            + "|\n"
    };
    let rule = "|---".repeat(HEADS.len() - without.len()) + "|\n";
    let rows = rows.iter().map(|row| line(cells(row).each_ref().map(String::as_str)));
    line(HEADS) + &rule + &rows.collect::<String>()
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

/// What [`cells`] are of.
pub(crate) const HEADS: [&str; 14] = [
    "arm",
    "version",
    "trials",
    "verdicts",
    "fetch p50",
    "p90",
    "p99",
    "max",
    "failed",
    "499",
    "downloads",
    "longest turn",
    "bytes a step",
    "CPU for a GB",
];

/// A row with its units.
pub(crate) fn cells(row: &ArmRow) -> [String; 14] {
    fn known(figure: Option<impl ToString>) -> String {
        figure.map_or_else(|| "-".to_owned(), |figure| figure.to_string())
    }
    let ArmRow { trials, failed, tried, slow_rate, .. } = row;
    let ran = *trials > 0;
    let verdict = |(verdict, trials): (&Verdict, &u64)| format!("{trials} {verdict}");
    let verdicts: Vec<String> = row.verdicts.iter().map(verdict).collect();
    [
        row.name.clone(),
        known(row.version.as_ref()),
        trials.to_string(),
        verdicts.join(", "),
        known(ran.then_some(row.p50)),
        known(ran.then_some(row.p90)),
        known(ran.then_some(row.p99)),
        known(ran.then_some(row.max)),
        known(ran.then(|| format!("{failed}/{tried}"))),
        known(row.early_closes),
        known((*slow_rate != BytesPerSec(0)).then_some(slow_rate)),
        known(row.longest_turn),
        known(row.bytes_per_step),
        known(row.cpu_per_gb),
    ]
}

fn line(cells: [&str; 10]) -> String {
    let [name, p50, p90, p99, max, failed, slow, turn, cpu, verdicts] = cells;
    format!(
        "{name:<NAME$}{p50:>8} {p90:>8} {p99:>8} {max:>8} {failed:>7} {slow:>8} {turn:>7} {cpu:>7}  \
         {verdicts}"
    )
}

/// Where the figures begin.
const AT: usize = 28;

/// The whole of it, with a newline after each line.
pub(crate) fn case(case: &Case, rows: &[ArmRow], dir: &Path, style: Style) -> String {
    let mut lines = vec![style.paint(Tint::Label, &case.title), String::new()];
    for paragraph in &case.story {
        lines.extend(wrap(paragraph, WIDTH, MaxLines(20)));
        lines.push(String::new());
    }
    lines.extend(field("source", &case.source));
    lines.extend(field("look at", &case.look));
    lines.push(String::new());
    let mut text: String = lines.into_iter().map(|line| line + "\n").collect();
    text += &arms(rows, style);
    for arm in &case.arms {
        text += "\n";
        text += &self::arm(arm, style);
    }
    text += &format!("\nrecords     {}\n", dir.display());
    text
}

/// The names of all cases with their titles.
pub fn case_list(cases: &[(&str, String)], style: Style) -> String {
    let width = cases.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + 2;
    let line = |(name, title): &(&str, String)| {
        format!("{}{title}\n", style.paint(Tint::Label, &format!("{name:<width$}")))
    };
    cases.iter().map(line).collect()
}

fn field(label: &str, text: &str) -> Vec<String> {
    let lines = wrap(text, WIDTH - 12, MaxLines(6)).into_iter().enumerate();
    lines.map(|(at, line)| format!("{:<12}{line}", if at == 0 { label } else { "" })).collect()
}

fn arm(arm: &CaseArm, style: Style) -> String {
    let CaseArm { name, verdict, dir, figures } = arm;
    let verdict = style.paint((*verdict).into(), verdict.name());
    let mut text = format!("{}  {verdict}  {}\n", style.paint(Tint::Label, name), dir.display());
    for CaseFigure { label, here, published } in figures {
        let here = here.as_deref().unwrap_or("-");
        text += &row(label, "here", here);
        if let Some(published) = published {
            text += &row("", "published", published);
        }
    }
    text
}

fn row(label: &str, whose: &str, told: &str) -> String {
    let lines = wrap(told, WIDTH - AT, MaxLines(4)).into_iter().enumerate();
    lines
        .map(|(at, line)| match at {
            0 => format!("  {label:<15}{whose:<11}{line}\n"),
            _ => format!("{:AT$}{line}\n", ""),
        })
        .collect()
}
