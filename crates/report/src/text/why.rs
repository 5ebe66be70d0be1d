//! Why fetches were late, in a few lines of 80 columns: made to be quoted.

use records::{CauseShare, Summary, percent};

use super::Limits;
use super::layout::{MaxLines, NARROW, heading, labelled_within, wrap};
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
