//! Arms in a table; and a case: its words, its arms, and their figures beside the published ones.

use std::path::Path;

use records::{ArmRow, BytesPerSec, Verdict};

use super::layout::{Style, Tint};
use super::sheet::Sheet;
use crate::campaign::{Case, CaseArm, CaseFigure};
use crate::table::Table;

/// What a terminal and a page leave to the Markdown.
pub(crate) const ASIDE: [&str; 4] = ["version", "trials", "499", "bytes a step"];
/// What the metrics of a comparison tell, below the table: two tables of the same figure, each averaged
/// in its own way, would be two figures.
pub(super) const COMPARED: [&str; 5] = ["fetch p50", "p90", "p99", "max", "downloads"];

/// A row for each arm.
pub(crate) fn arms(rows: &[ArmRow]) -> Table {
    fn known(figure: Option<impl ToString>) -> String {
        figure.map_or_else(|| "-".to_owned(), |figure| figure.to_string())
    }
    let mut table = Table::new([
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
    ]);
    for row in rows {
        let ArmRow { trials, failed, tried, slow_rate, .. } = row;
        let ran = *trials > 0;
        let verdict = |(verdict, trials): (&Verdict, &u64)| format!("{trials} {verdict}");
        let verdicts: Vec<String> = row.verdicts.iter().map(verdict).collect();
        table.row([
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
        ]);
    }
    table
}

/// The table as Markdown.
pub fn arms_markdown(rows: &[ArmRow]) -> String {
    arms(rows).markdown()
}

/// The whole of a case, with a newline after each line.
pub(crate) fn case(case: &Case, rows: &[ArmRow], dir: &Path, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    sheet.line(&style.paint(Tint::Label, &case.words.title));
    for paragraph in case.words.story.trim().split("\n\n") {
        sheet.section();
        sheet.prose(0, paragraph);
    }
    sheet.section();
    sheet.labelled("source", &case.words.source);
    sheet.labelled("look at", &case.words.look);
    sheet.section();
    sheet.table(&arms(rows).without(&ASIDE));
    for CaseArm { name, verdict, dir, figures } in &case.arms {
        let verdict = style.paint((*verdict).into(), verdict.name());
        sheet.section();
        sheet.line(&format!("{}  {verdict}  {}", style.paint(Tint::Label, name), dir.display()));
        let mut table = Table::new(["figure", "here", "published"]);
        for CaseFigure { label, here, published } in figures {
            let known = |told: &Option<String>| told.clone().unwrap_or_else(|| "-".to_owned());
            table.row([(*label).to_owned(), known(here), known(published)]);
        }
        sheet.table(&table);
    }
    sheet.section();
    sheet.whole("records", dir.display());
    sheet.finish()
}

/// The names of all cases with their titles.
pub fn case_list(cases: &[(&str, String)], style: Style) -> String {
    let width = cases.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + 2;
    let line = |(name, title): &(&str, String)| {
        format!("{}{title}\n", style.paint(Tint::Label, &format!("{name:<width$}")))
    };
    cases.iter().map(line).collect()
}
