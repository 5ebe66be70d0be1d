//! A case: its words, its arms in one table, and their figures beside the published ones.

use std::path::Path;

use records::ArmRow;

use super::layout::{MaxLines, WIDTH, wrap};
use super::style::{Style, Tint};
use crate::campaign::{Case, CaseArm, CaseFigure};

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
    text += &super::arms(rows, style);
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
