//! The summary as people read it: at most 50 lines of 100 columns; and as programs read it.
//!
//! Not for: arithmetic. Every figure stands in the summary; here it gets a unit and a place.
//!
//! Invariant: the text says the same with and without colour.

mod arms;
mod case;
mod check;
mod compare;
mod fetches;
mod layout;
mod next;
mod open_metrics;
mod proxy;
mod sentences;
mod story;
mod style;
mod timeline;
mod under_test;
mod verdict;
mod why;

use std::path::Path;

use records::{Manifest, Summary};
use serde::Serialize;

pub use arms::{arms, arms_markdown};
pub use case::{case, case_list};
pub use check::{annotations, check, check_markdown, gate, junit, open_metrics};
pub use compare::{
    cells as metric_cells, comparison, comparison_gate, comparison_markdown, left_out,
};
use layout::{INDENT, WIDTH, columns};
pub use layout::{MaxLines, labelled, short_bytes};
pub use open_metrics::OpenMetrics;
pub use story::story;
pub use style::Style;
use style::Tint;
pub use timeline::timeline;
use why::CausesAs;

/// The most lines a report has.
pub const MAX_LINES: usize = 50;

/// The report of a run, with a newline after each line.
///
/// Sections in order: verdict; outcomes idle against load; latencies; why fetches were late;
/// downloads; workers; the access log beside the clients' view; caveats; the run directory; the
/// command to try next.
pub fn text(manifest: &Manifest, summary: &Summary, run_dir: &Path, style: Style) -> String {
    let report = |limits: &Limits| compose(manifest, summary, run_dir, style, limits);
    let mut lines = Vec::new();
    for limits in &LIMITS {
        lines = report(limits);
        if lines.len() <= MAX_LINES {
            break;
        }
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

/// `summary.json` and other documents: the document and nothing else, with a newline at its end.
pub fn json(document: &impl Serialize) -> String {
    let document = serde_json::to_string_pretty(document);
    document.expect("our documents have string keys and finite numbers") + "\n"
}

/// How much of what may be long is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) reasons: usize,
    pub(crate) reason_lines: usize,
    pub(crate) causes: CausesAs,
    /// Lines of a sentence that tells why.
    pub(crate) why_lines: usize,
    /// Lines that name hidden causes.
    pub(crate) hidden_lines: usize,
    pub(crate) workers: usize,
    pub(crate) statuses: usize,
    pub(crate) log_gap: LogGapLine,
    pub(crate) caveats: usize,
    pub(crate) caveat_lines: usize,
    pub(crate) explain: CommandLine,
    pub(crate) gaps: Gaps,
}

/// What stands between two sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gaps {
    Blank,
    Nothing,
}

/// Whether the access log's largest error is told with its fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogGapLine {
    Told,
    LeftOut,
}

/// Whether the command that explains the run is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandLine {
    Told,
    LeftOut,
}

/// From generous to what fits into 50 lines whatever happens: the first that fits is used.
const LIMITS: [Limits; 5] = [
    Limits {
        reasons: 4,
        reason_lines: 3,
        causes: CausesAs::Rows(10),
        why_lines: 3,
        hidden_lines: 4,
        workers: 8,
        statuses: 10,
        log_gap: LogGapLine::Told,
        caveats: 10,
        caveat_lines: 2,
        explain: CommandLine::Told,
        gaps: Gaps::Blank,
    },
    Limits {
        reasons: 3,
        reason_lines: 2,
        causes: CausesAs::Rows(5),
        why_lines: 3,
        hidden_lines: 3,
        workers: 8,
        statuses: 6,
        log_gap: LogGapLine::LeftOut,
        caveats: 4,
        caveat_lines: 2,
        explain: CommandLine::Told,
        gaps: Gaps::Blank,
    },
    Limits {
        reasons: 2,
        reason_lines: 2,
        causes: CausesAs::Rows(3),
        why_lines: 3,
        hidden_lines: 4,
        workers: 4,
        statuses: 5,
        log_gap: LogGapLine::LeftOut,
        caveats: 3,
        caveat_lines: 2,
        explain: CommandLine::LeftOut,
        gaps: Gaps::Blank,
    },
    Limits {
        reasons: 2,
        reason_lines: 2,
        causes: CausesAs::Rows(3),
        why_lines: 3,
        hidden_lines: 3,
        workers: 8,
        statuses: 5,
        log_gap: LogGapLine::LeftOut,
        caveats: 3,
        caveat_lines: 1,
        explain: CommandLine::Told,
        gaps: Gaps::Nothing,
    },
    Limits {
        reasons: 1,
        reason_lines: 2,
        causes: CausesAs::Sentence,
        why_lines: 3,
        hidden_lines: 1,
        workers: 3,
        statuses: 3,
        log_gap: LogGapLine::LeftOut,
        caveats: 2,
        caveat_lines: 1,
        explain: CommandLine::LeftOut,
        gaps: Gaps::Nothing,
    },
];

fn compose(
    manifest: &Manifest,
    summary: &Summary,
    run_dir: &Path,
    style: Style,
    limits: &Limits,
) -> Vec<String> {
    let mut end = vec![format!(
        "{}{}",
        style.paint(Tint::Label, &format!("{:<INDENT$}", "run")),
        run_dir.display()
    )];
    if limits.explain == CommandLine::Told && summary.late.fetches > 0 {
        let label = style.paint(Tint::Label, &format!("{:<INDENT$}", "explain"));
        end.push(format!("{label}{}", explain_command(&manifest.command, run_dir, None)));
    }
    end.extend(next_command(manifest, summary, style));
    let sections = [
        verdict::verdict(summary, style, limits),
        under_test::lines(summary, style),
        fetches::outcomes(summary, style),
        fetches::latencies(summary, style),
        why::why(summary, style, limits),
        fetches::downloads(manifest, summary, style),
        proxy::workers(manifest, summary, style, limits),
        proxy::statuses(summary, style, limits),
        verdict::caveats(&summary.caveats, style, limits.caveats, MaxLines(limits.caveat_lines)),
        end,
    ];
    let mut lines: Vec<String> = Vec::new();
    for section in sections {
        if limits.gaps == Gaps::Blank && !lines.is_empty() && !section.is_empty() {
            lines.push(String::new());
        }
        lines.extend(section.into_iter().map(|line| line.trim_end().to_owned()));
    }
    lines
}

/// The command that explains a run, or one of its fetches, ready to be pasted.
fn explain_command(command: &[String], run_dir: &Path, fetch: Option<u64>) -> String {
    let program = command.first().map_or("turnstile", String::as_str);
    let mut words =
        [program, "explain", &run_dir.display().to_string()].map(str::to_owned).to_vec();
    if let Some(fetch) = fetch {
        words.extend(["--fetch".to_owned(), fetch.to_string()]);
    }
    next::quoted(&words).join(" ")
}

/// What to try next and, below, the command, ready to be pasted: broken only where a shell joins it
/// again.
fn next_command(manifest: &Manifest, summary: &Summary, style: Style) -> Vec<String> {
    let next = next::next(&manifest.command, summary);
    let mut lines = labelled(style, "next", next.why, MaxLines(1));
    let mut line = " ".repeat(INDENT);
    for word in next::quoted(&next.command) {
        let begun = columns(&line) > INDENT;
        if begun && columns(&line) + 1 + columns(&word) + 2 > WIDTH {
            lines.push(format!("{line} \\"));
            line = " ".repeat(INDENT + 2);
        } else if begun {
            line.push(' ');
        }
        line.push_str(&word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests;
