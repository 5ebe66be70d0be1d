//! The verdict with its reasons, and the caveats; why fetches were late, in a few lines of 80 columns made
//! to be quoted.

use records::{CauseShare, Caveat, CaveatCode, Summary, Verdict, percent};

use super::Limits;
use super::layout::{
    INDENT, MaxLines, NARROW, WIDTH, heading, label, labelled, labelled_within, wrap,
};
use super::style::Style;
use crate::words;
use analysis::LATE_FACTOR;
use analysis::measured_when;
use analysis::report::Why;

/// Width of the first column, as in the tables of fetches.
const NAME: usize = 18;

/// How much room the causes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CausesAs {
    /// A row for each of at most so many, 2 or more.
    Rows(usize),
    /// One sentence with the largest.
    Sentence,
}

/// The causes of late time; the worst fetch; the law; the log and the truth; what is hidden.
pub(crate) fn why(summary: &Summary, style: Style, limits: &Limits) -> Vec<String> {
    let most = match limits.causes {
        CausesAs::Rows(most) => most,
        CausesAs::Sentence => 2,
    };
    let Some(why) = Why::of(summary, most) else { return Vec::new() };
    let said = |label: &str, text: &str, max| labelled_within(NARROW, style, label, text, max);
    let max = MaxLines(3);
    let mut lines = match limits.causes {
        _ if why.late == 0 => {
            said("why", &nothing_late(&why, measured_when(&summary.arm)), MaxLines(2))
        }
        CausesAs::Rows(_) => rows(&why, style),
        CausesAs::Sentence => said("why", &sentence(&why), MaxLines(1)),
    };
    if let Some(worst) = &why.worst {
        lines.extend(said("worst", &words::worst(worst), max));
    }
    if let Some(law) = why.law.as_ref().filter(|_| limits.causes != CausesAs::Sentence) {
        lines.extend(said("law", &words::law(law), max));
    }
    if let Some(log) = &why.log {
        lines.extend(said("log", &words::log(log), MaxLines(2)));
    }
    if !why.hidden.is_empty() {
        let max = MaxLines(limits.hidden_lines);
        lines.extend(said("hidden", &words::hidden(&why.hidden), max));
    }
    lines
}

fn nothing_late(why: &Why, when: &str) -> String {
    match why.limit_us {
        Some(limit) => format!(
            "no fetch {when} was late: none failed or took over {limit} ({LATE_FACTOR} x idle p99)"
        ),
        None => format!("no fetch {when} failed; without idle fetches none counts as slow"),
    }
}

fn rows(why: &Why, style: Style) -> Vec<String> {
    let columns = format!("{:>16}{:>16}{:>16}", "of late time", "time", "fetches led");
    let mut lines = vec![heading(style, "why", NAME, &columns)];
    let row = |name: &str, share: f64, time: records::Micros, fetches: u64| {
        format!("  {name:<16}{:>16}{time:>16}{fetches:>16}", percent(share))
    };
    let cause = |share: &CauseShare| {
        row(share.cause.name(), share.share_of_late_time, share.time_us, share.fetches)
    };
    lines.extend(why.causes.iter().map(cause));
    if let Some(others) = why.others {
        let name = format!("others ({})", others.causes);
        lines.push(row(&name, others.share_of_late_time, others.time_us, others.fetches));
    }
    let which = words::which_are_late(why.phase, why.limit_us);
    let note = format!("(late: {} of {}{which}; {} in all)", why.late, why.attempts, why.time_us);
    lines.extend(wrap(&note, NARROW - 2, MaxLines(2)).into_iter().map(|line| format!("  {line}")));
    lines
}

fn sentence(why: &Why) -> String {
    let causes = why
        .causes
        .iter()
        .map(|share| format!("{} {}", share.cause, percent(share.share_of_late_time)));
    let causes: Vec<String> = causes.collect();
    format!("{} of {} in {} late fetches", causes.join(", "), why.time_us, why.late)
}

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
