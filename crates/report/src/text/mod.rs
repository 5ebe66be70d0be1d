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
pub(crate) mod layout;
mod next;
mod open_metrics;
mod proxy;
mod story;
mod style;
mod timeline;
mod why;

use std::path::Path;

use records::{Manifest, Summary};
use serde::Serialize;

pub(crate) use arms::arms;
pub use arms::arms_markdown;
pub(crate) use case::case;
pub use case::case_list;
use check::gate;
pub use check::{annotations, check, check_markdown, junit, open_metrics};
pub(crate) use compare::{
    cells as metric_cells, comparison, comparison_gate, comparison_markdown, left_out, reasons,
};
use layout::{INDENT, WIDTH, columns, label};
pub use layout::{MaxLines, labelled, short_bytes};
pub use open_metrics::OpenMetrics;
pub use story::story;
pub use style::Style;
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
    /// Lines that name hidden causes.
    pub(crate) hidden_lines: usize,
    pub(crate) workers: usize,
    pub(crate) statuses: usize,
    /// The access log's largest error with its fetch.
    pub(crate) log_gap: Shown,
    pub(crate) caveats: usize,
    pub(crate) caveat_lines: usize,
    /// The command that explains the run.
    pub(crate) explain: Shown,
    /// A blank line between two sections.
    pub(crate) gaps: Shown,
}

/// Whether something is told at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    Yes,
    No,
}

const AMPLE: Limits = Limits {
    reasons: 4,
    reason_lines: 3,
    causes: CausesAs::Rows(10),
    hidden_lines: 4,
    workers: 8,
    statuses: 10,
    log_gap: Shown::Yes,
    caveats: 10,
    caveat_lines: 2,
    explain: Shown::Yes,
    gaps: Shown::Yes,
};

const SHORT: Limits = Limits {
    reasons: 2,
    reason_lines: 2,
    causes: CausesAs::Rows(3),
    workers: 4,
    statuses: 5,
    log_gap: Shown::No,
    caveats: 3,
    explain: Shown::No,
    ..AMPLE
};

/// From generous to what fits into 50 lines whatever happens: the first that fits is used.
const LIMITS: [Limits; 5] = [
    AMPLE,
    Limits {
        reasons: 3,
        causes: CausesAs::Rows(5),
        hidden_lines: 3,
        workers: 8,
        statuses: 6,
        caveats: 4,
        explain: Shown::Yes,
        ..SHORT
    },
    SHORT,
    Limits {
        hidden_lines: 3,
        workers: 8,
        caveat_lines: 1,
        explain: Shown::Yes,
        gaps: Shown::No,
        ..SHORT
    },
    Limits {
        reasons: 1,
        causes: CausesAs::Sentence,
        hidden_lines: 1,
        workers: 3,
        statuses: 3,
        caveats: 2,
        caveat_lines: 1,
        gaps: Shown::No,
        ..SHORT
    },
];

fn compose(
    manifest: &Manifest,
    summary: &Summary,
    run_dir: &Path,
    style: Style,
    limits: &Limits,
) -> Vec<String> {
    let mut end = vec![format!("{}{}", label(style, "run"), run_dir.display())];
    if limits.explain == Shown::Yes && summary.late.fetches > 0 {
        let command = explain_command(&manifest.command, run_dir, None);
        end.push(label(style, "explain") + &command);
    }
    end.extend(next_command(manifest, summary, style));
    let sections = [
        why::verdict(summary, style, limits),
        proxy::under_test(summary, style),
        fetches::outcomes(summary, style),
        fetches::latencies(summary, style),
        why::why(summary, style, limits),
        fetches::downloads(manifest, summary, style),
        proxy::workers(manifest, summary, style, limits),
        proxy::statuses(summary, style, limits),
        why::caveats(&summary.caveats, style, limits.caveats, MaxLines(limits.caveat_lines)),
        end,
    ];
    let mut lines: Vec<String> = Vec::new();
    for section in sections {
        if limits.gaps == Shown::Yes && !lines.is_empty() && !section.is_empty() {
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
