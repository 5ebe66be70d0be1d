//! The verdict with its reasons; the caveats.

use records::{Caveat, CaveatCode, Summary, Verdict};

use super::Limits;
use super::layout::{INDENT, MaxLines, WIDTH, label, labelled, wrap};
use super::style::Style;

/// The verdict line, then one line or more for each further reason.
pub(crate) fn verdict(summary: &Summary, style: Style, limits: &Limits) -> Vec<String> {
    let mut reasons = summary.verdict_reasons.iter();
    let first = reasons.next().map_or("", String::as_str);
    let max = MaxLines(limits.reason_lines);
    let interrupted = summary.interrupted.as_deref();
    let mut lines = first_line(summary.verdict, interrupted, first, style, max);
    for reason in reasons.by_ref().take(limits.reasons.saturating_sub(1)) {
        lines.extend(labelled(style, "", reason, max));
    }
    let more = reasons.count();
    if more > 0 {
        lines.push(format!("{:INDENT$}and {more} more (verdict_reasons in summary.json)", ""));
    }
    lines
}

/// The verdict with its weightiest reason.
pub(crate) fn first_line(
    verdict: Verdict,
    interrupted: Option<&str>,
    reason: &str,
    style: Style,
    max: MaxLines,
) -> Vec<String> {
    let name = verdict.name();
    let interrupted = if interrupted.is_some() { " (interrupted)" } else { "" };
    let head = format!("{name}{interrupted}: {reason}");
    let mut lines = Vec::new();
    for (index, line) in wrap(&head, WIDTH - INDENT, max).into_iter().enumerate() {
        let label = label(style, if index == 0 { "verdict" } else { "" });
        let line = match line.strip_prefix(name).filter(|_| index == 0) {
            Some(rest) => format!("{}{rest}", style.paint(verdict.into(), name)),
            None => line,
        };
        lines.push(format!("{label}{line}"));
    }
    lines
}

/// The first `most` caveats, one after the other, each in at most `max` lines.
pub(crate) fn caveats(caveats: &[Caveat], style: Style, most: usize, max: MaxLines) -> Vec<String> {
    let mut lines = Vec::new();
    let mut caveats = caveats.iter();
    for Caveat { code, message } in caveats.by_ref().take(most) {
        let text = format!("{}: {message}", title(*code));
        let label = if lines.is_empty() { "caveats" } else { "" };
        lines.extend(labelled(style, label, &text, max));
    }
    let more = caveats.count();
    if more > 0 {
        lines.push(format!("{:INDENT$}and {more} more (caveats in summary.json)", ""));
    }
    lines
}

const fn title(code: CaveatCode) -> &'static str {
    match code {
        CaveatCode::UnevenPlacement => "uneven placement",
        CaveatCode::DownloadsHeld => "downloads held",
        CaveatCode::BufferNotAsAsked => "buffer not as asked",
        CaveatCode::ClientLate => "client late",
        CaveatCode::RecordsLost => "records lost",
        CaveatCode::FetchesUntried => "fetches untried",
        CaveatCode::SharedCpu => "shared CPU",
        CaveatCode::NotPinned => "not pinned",
        CaveatCode::AcceptPaused => "accept paused",
        CaveatCode::StolenCpu => "stolen CPU",
        CaveatCode::BusyHost => "busy host",
        CaveatCode::FewFetches => "few fetches",
        CaveatCode::FigureMissing => "figure missing",
        CaveatCode::Interrupted => "interrupted",
    }
}
