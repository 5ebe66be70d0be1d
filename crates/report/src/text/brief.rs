//! A run in ten lines: what it proves, why, what could change that answer, and what to do next.
//!
//! Not for: figures that only someone who doubts the answer needs; those are in [`super::details`] and
//! in `turnstile explain`.
//!
//! Invariant: no line contradicts the verdict. A healthy run has no cause and no worst request.

use std::path::Path;

use analysis::measured_when;
use records::{
    Arm, Caveat, CaveatCode, Manifest, Micros, STARVED_SHARE, Summary, Verdict, Visibility,
    percent_beside,
};

use super::layout::{NARROW, Style, Tint, columns, wrap_to};
use super::next;
use crate::words;

/// The most lines that the report of a run has.
pub const MAX_LINES: usize = 12;

/// Where the text of a line begins.
const AT: usize = 10;

/// One thing that is said of a run.
pub(crate) struct Line {
    /// What it is, in a word.
    pub(crate) label: String,
    /// What is said.
    pub(crate) text: String,
    /// Lines that it may take in a terminal.
    most: usize,
    tint: Tint,
}

impl Line {
    fn new(label: &str, text: String, most: usize) -> Self {
        Self { label: label.to_owned(), text, most, tint: Tint::Label }
    }

    fn lines(&self, style: Style) -> Vec<String> {
        let at = AT.max(columns(&self.label) + 2);
        let text = wrap_to(self.most, &self.text, NARROW - at);
        let line = |(place, text): (usize, String)| {
            let label = if place == 0 { self.label.as_str() } else { "" };
            format!("{}{text}", style.paint(self.tint, &format!("{label:<at$}")))
        };
        text.into_iter().enumerate().map(line).collect()
    }
}

/// The report of a run in at most [`MAX_LINES`] lines of 80 columns, with a newline after each; only a
/// command and a path may be longer, so that they can be copied.
pub fn text(manifest: &Manifest, summary: &Summary, run_dir: &Path, style: Style) -> String {
    let rendered = |lines: Vec<Line>| -> Vec<String> {
        lines.iter().flat_map(|line| line.lines(style)).collect()
    };
    let mut lines = rendered(head(summary));
    lines.extend(rendered(body(summary)));
    let program = manifest.command.first().map_or("turnstile", String::as_str);
    let label = |label: &str| style.paint(Tint::Label, &format!("{label:<AT$}"));
    let next = manifest.captured.is_none();
    let next = next.then(|| label("next") + &next::line(&manifest.command, summary));
    let end = [
        format!("{}{program} explain | report --open | report -v", label("details")),
        format!("{}{}", label("run"), run_dir.display()),
    ];
    let end: Vec<String> = next.into_iter().chain(end).collect();
    let room = MAX_LINES - lines.len() - end.len();
    let whole = rendered(doubts(summary, 2, room));
    lines.extend(if whole.len() <= room { whole } else { rendered(doubts(summary, 1, room)) });
    lines.into_iter().chain(end).map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// That it was cut short, if it was; the verdict with the figures that carry it, or with the reason why
/// there is none.
pub(crate) fn head(summary: &Summary) -> Vec<Line> {
    let mut lines = Vec::new();
    let cut = summary.caveats.iter().find(|caveat| caveat.code == CaveatCode::Interrupted);
    if let Some(Caveat { message, .. }) = cut {
        lines.push(Line { tint: Tint::Warn, ..Line::new("INTERRUPTED", message.clone(), 1) });
    }
    let verdict = summary.verdict;
    let name = verdict.name().to_uppercase();
    let tint = verdict.into();
    if verdict == Verdict::Inconclusive {
        let why = summary.verdict_reasons.first().map_or("no reason was given", String::as_str);
        lines.push(Line { tint, ..Line::new(&name, why.to_owned(), 2) });
        lines.push(Line::new("seen", figures(summary), 1));
    } else {
        lines.push(Line { tint, ..Line::new(&name, figures(summary), 1) });
    }
    lines
}

/// The verdict and the figures that carry it, in one line: `STARVED: 53 of 80 requests failed (66 %); ...`.
pub fn headline(summary: &Summary) -> String {
    let name = summary.verdict.name().to_uppercase();
    let said = head(summary).into_iter().find(|line| line.label == name);
    format!("{name}: {}", said.map_or_else(String::new, |line| line.text))
}

/// How many requests failed, and how long half of them took, in one line: less of it where it would not
/// fit.
fn figures(summary: &Summary) -> String {
    let load = &summary.measure;
    let (failed, tried) = (load.outcomes.failed(), load.outcomes.tried());
    let when = &*when(&summary.arm);
    if tried == 0 {
        return format!("no request was made {when}");
    }
    let times = times(summary);
    let share = percent_beside(load.failed_share, STARVED_SHARE);
    let candidates = match (failed, summary.verdict) {
        (0, Verdict::Degraded) => {
            let served = format!("all {tried} served, slower than idle");
            let times = times.replace(" idle,", ",");
            let brief = times.replace(when, measured_when(&summary.arm));
            vec![format!("{served}: {times}"), format!("{served}: {brief}"), served]
        }
        (0, _) => vec![
            format!("none of {tried} requests failed; {times}"),
            format!("none of {tried} failed; {times}"),
            format!("none of {tried} failed"),
        ],
        _ => vec![
            format!("{failed} of {tried} requests failed ({share}); {times}"),
            format!("{failed} of {tried} failed ({share}); {times}"),
            format!("{failed} of {tried} failed; {times}"),
            format!("{failed} of {tried} failed"),
        ],
    };
    let room = NARROW - AT.max(summary.verdict.name().len() + 2);
    let fits = candidates.iter().position(|text| columns(text) <= room);
    candidates.into_iter().nth(fits.unwrap_or(usize::MAX)).unwrap_or_default()
}

/// `median 5.0 ms idle, over 1 s beside downloads`: by when half of them were done; or 99 of 100, where
/// these alone are slower.
fn times(summary: &Summary) -> String {
    let when = when(&summary.arm);
    let done = |fetches: &records::FetchSummary| fetches.completion_us.unwrap_or_default();
    let (idle, load) = (done(&summary.idle), done(&summary.measure));
    let is_slow = |(idle, load): (u64, u64)| load >= idle.saturating_mul(2);
    let tail = summary.verdict == Verdict::Degraded
        && idle.p50.zip(load.p50).is_some_and(|both| !is_slow(both));
    let (name, idle, load) =
        if tail { ("p99", idle.p99, load.p99) } else { ("median", idle.p50, load.p50) };
    let told = |us: Option<u64>| match us {
        Some(us) => Micros(us).to_string(),
        None => format!("over {}", summary.arm.fetch.cap.to_string().replace(".000 s", " s")),
    };
    match summary.idle.attempts {
        0 => format!("{name} {} {when}", told(load)),
        _ => format!("{name} {} idle, {} {when}", told(idle), told(load)),
    }
}

fn when(arm: &Arm) -> String {
    match arm.load.slow {
        0 => "with no load".to_owned(),
        _ => format!("beside {}", arm.load.plural()),
    }
}

/// Which server it was, where it is not the mirror; why requests were late; the one that waited longest;
/// the access log.
pub(crate) fn body(summary: &Summary) -> Vec<Line> {
    let server = words::program(summary).map(|name| {
        Line::new("server", format!("{name}; workers seen {}", summary.visibility.words()), 1)
    });
    let mut lines: Vec<Line> = server.into_iter().collect();
    let (cause, proves) = (words::causes(summary), summary.verdict != Verdict::Inconclusive);
    if let Some(cause) = cause.filter(|_| summary.verdict != Verdict::Healthy) {
        lines.push(Line::new("cause", cause, 2));
        let worst = summary.late.worst.as_ref().filter(|_| proves);
        lines.extend(worst.map(|worst| Line::new("worst", words::worst(worst), 2)));
    }
    lines.extend(log(summary).filter(|_| proves).map(|log| Line::new("log", log, 1)));
    lines
}

/// What the log says of the request of which it is furthest from the truth.
fn log(summary: &Summary) -> Option<String> {
    let (proxy, truth) = (&summary.proxy, &summary.log_truth);
    if summary.visibility == Visibility::ClientsOnly && proxy.status_counts.is_empty() {
        return Some("none that we could read: of this server only its clients tell".to_owned());
    }
    let misleads = truth.failed + truth.understated + truth.overstated > 0;
    match &summary.log_gap {
        Some(gap) if misleads => Some(format!(
            "says {} after {:.3} s; its client waited {:.3} s (request {})",
            gap.status,
            gap.logged_us.as_secs(),
            gap.true_us.as_secs(),
            gap.fetch
        )),
        _ if misleads => Some(words::log(truth)),
        _ if proxy.status_counts.is_empty() => None,
        _ => Some(format!("agrees with its clients to within {}", truth.largest_gap_us)),
    }
}

/// The caveats that could change the answer, or that there is none.
pub(crate) fn doubts(summary: &Summary, most: usize, room: usize) -> Vec<Line> {
    let weighty = |caveat: &&Caveat| match caveat.code {
        // The first of these is said at the top; the others bear on a figure of the details alone.
        CaveatCode::Interrupted
        | CaveatCode::FewFetches
        | CaveatCode::ClosedLoop
        | CaveatCode::FigureMissing
        | CaveatCode::PacketsMissing
        | CaveatCode::NotPinned => false,
        CaveatCode::UnevenPlacement
        | CaveatCode::DownloadsHeld
        | CaveatCode::BufferNotAsAsked
        | CaveatCode::ClientLate
        | CaveatCode::RecordsLost
        | CaveatCode::FetchesUntried
        | CaveatCode::SharedCpu
        | CaveatCode::AcceptPaused
        | CaveatCode::StolenCpu
        | CaveatCode::BusyHost => true,
    };
    let doubts: Vec<&Caveat> = summary.caveats.iter().filter(weighty).collect();
    if doubts.is_empty() {
        return vec![Line::new("doubt", "none".to_owned(), 1)];
    }
    let shown = if doubts.len() > room { room - 1 } else { doubts.len() };
    let label = |place| if place == 0 { "doubt" } else { "" };
    let line =
        |(place, doubt): (usize, &&Caveat)| Line::new(label(place), doubt.message.clone(), most);
    let mut lines: Vec<Line> = doubts.iter().take(shown).enumerate().map(line).collect();
    if shown < doubts.len() {
        let more = format!("{} more, in the details", doubts.len() - shown);
        lines.push(Line::new(label(shown), more, 1));
    }
    lines
}
