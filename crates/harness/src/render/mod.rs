//! The summary as people read it: at most 50 lines of 100 columns; and as programs read it.
//!
//! Not for: arithmetic. Every figure stands in the summary; here it gets a unit and a place.
//!
//! Invariant: the text says the same with and without colour.

mod fetches;
mod layout;
mod next;
mod proxy;
mod style;
mod verdict;

use std::path::Path;

use records::{Manifest, Summary};

use layout::{INDENT, MaxLines, WIDTH, columns, labelled};
pub use style::Style;
use style::Tint;

/// The most lines a report has.
pub const MAX_LINES: usize = 50;

/// The report of a run, with a newline after each line.
///
/// Sections in order: verdict; outcomes idle against load; latencies; downloads; workers; the
/// access log beside the clients' view; caveats; the run directory; the command to try next.
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

/// `summary.json`: the document and nothing else, with a newline at its end.
pub fn json(summary: &Summary) -> String {
    let document = serde_json::to_string_pretty(summary);
    document.expect("a summary has string keys and finite numbers") + "\n"
}

/// How much of what may be long is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) reasons: usize,
    pub(crate) reason_lines: usize,
    pub(crate) workers: usize,
    pub(crate) statuses: usize,
    pub(crate) caveats: usize,
    pub(crate) caveat_lines: usize,
    pub(crate) gaps: Gaps,
}

/// What stands between two sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gaps {
    Blank,
    Nothing,
}

/// From generous to what fits into 50 lines whatever happens: the first that fits is used.
const LIMITS: [Limits; 4] = [
    Limits {
        reasons: 4,
        reason_lines: 3,
        workers: 8,
        statuses: 10,
        caveats: 10,
        caveat_lines: 2,
        gaps: Gaps::Blank,
    },
    Limits {
        reasons: 3,
        reason_lines: 2,
        workers: 8,
        statuses: 6,
        caveats: 4,
        caveat_lines: 2,
        gaps: Gaps::Blank,
    },
    Limits {
        reasons: 2,
        reason_lines: 2,
        workers: 8,
        statuses: 5,
        caveats: 3,
        caveat_lines: 1,
        gaps: Gaps::Nothing,
    },
    Limits {
        reasons: 1,
        reason_lines: 2,
        workers: 4,
        statuses: 3,
        caveats: 2,
        caveat_lines: 1,
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
    end.extend(next_command(manifest, summary, style));
    let sections = [
        verdict::verdict(summary, style, limits),
        fetches::outcomes(summary, style),
        fetches::latencies(summary, style),
        fetches::downloads(manifest, summary, style),
        proxy::workers(manifest, summary, style, limits),
        proxy::statuses(summary, style, limits),
        verdict::caveats(summary, style, limits),
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
