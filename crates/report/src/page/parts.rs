//! The parts of the page that are text, tables and figures, from above to below.

use std::fmt::Write as _;

use analysis::Analysis;
use analysis::report::Held;
use records::{Fault, RunRecords, Summary, Verdict, Visibility, shell_line};

use crate::data::PageData;
use crate::escape::html;
use crate::svg::palette;
use crate::text::brief::{self, Line};
use crate::text::run::latencies;
use crate::text::story;
use crate::words;

/// So many of those whose steps held fetches are named.
const HOLDERS: usize = 10;

/// What the terminal says of the run: the verdict's figures as the title, the rest below it.
pub(super) fn brief(summary: &Summary) -> String {
    let lines = brief::head(summary).into_iter().chain(brief::body(summary));
    let lines = lines.chain(brief::doubts(summary, 1, usize::MAX));
    let (title, rest): (Vec<Line>, Vec<Line>) =
        lines.partition(|line| line.label.eq_ignore_ascii_case(summary.verdict.name()));
    let title = title.first().map_or_else(String::new, |line| html(&line.text));
    let row = |Line { label, text, .. }: &Line| {
        format!("<dt>{}</dt><dd>{}</dd>", html(&label.to_lowercase()), html(text))
    };
    let rows: String = rest.iter().map(row).collect();
    format!("<h1>{title}</h1><dl class=\"brief\">{rows}</dl>")
}

/// What the picture cannot show of this run.
pub(super) fn unseen(data: &PageData<'_>) -> String {
    let nothing = data.holds.is_empty() && data.absences.is_empty();
    let workers = match data.analysis.summary.visibility {
        Visibility::LogOnly | Visibility::ClientsOnly => {
            "The workers of this proxy were not seen: nothing here tells what held its fetches."
        }
        Visibility::Threads => {
            "Threads of this server hand work to each other: no step is one thread's, and none is drawn."
        }
        _ if nothing => "No step long enough to hold others was seen.",
        Visibility::Own | Visibility::Traced | Visibility::Sampled => "",
    };
    let unowned = "The lowest lane has the fetches that no worker is known to have accepted.";
    let is_unowned = data.has_unowned() && !data.workers.is_empty();
    let notes = [workers, if is_unowned { unowned } else { "" }];
    let notes: Vec<&str> = notes.into_iter().filter(|note| !note.is_empty()).collect();
    if notes.is_empty() {
        String::new()
    } else {
        format!("<p class=\"note\">{}</p>", notes.join(" "))
    }
}

/// What the colours and marks of the picture mean.
pub(super) fn legend(data: &PageData<'_>) -> String {
    const MOST: usize = 12;
    let shown = if data.holds.is_empty() { &[][..] } else { &data.downloads };
    let slot = |slot: &u32| {
        let whose = words::holder(data.analysis.records.manifest.arm.load.holder(*slot));
        format!("{}{whose}", key(palette::download(*slot)))
    };
    let mut items: Vec<String> = shown.iter().take(MOST).map(slot).collect();
    if let Some(more @ 1..) = shown.len().checked_sub(MOST) {
        items.push(format!("and {more} more, in the same colours"));
    }
    if data.holds.iter().any(|hold| palette::holder(hold.holder) == palette::OTHER) {
        items.push(format!("{}a fetch's step", key(palette::OTHER)));
    }
    let drawn = |class: &str, what: &str| format!("<i class=\"key {class}\"></i>{what}");
    items.extend((!data.stretches.is_empty()).then(|| drawn("short", "short steps")));
    let away = "away from its poll, seen from outside";
    items.extend((!data.absences.is_empty()).then(|| drawn("away", away)));
    let queue = data.deepest_queue().map(|most| format!("to be accepted, {most} at most"));
    items.extend(queue.map(|what| drawn("queue", &what)));
    items.extend(data.outcomes().map(|outcome| {
        let (mark, words) = (palette::mark(outcome, "0", 0.0), words::outcome(outcome).short);
        let figure = "class=\"figure mark\" viewBox=\"-5 -5 10 10\" aria-hidden=\"true\"";
        format!("<svg {figure}>{mark}</svg>{words}")
    }));
    items.iter().map(|item| format!("<li>{item}</li>")).collect()
}

/// Who held whom, in the words of the terminal.
pub(super) fn holders(data: &PageData<'_>) -> String {
    let holders = &data.explanation.holders;
    let item = |held: &Held| {
        format!("<li>{}{}</li>", key(palette::holder(held.holder)), html(&words::held(held)))
    };
    let items: String = holders.iter().take(HOLDERS).map(item).collect();
    if items.is_empty() { items } else { format!("<ul class=\"holders\">{items}</ul>") }
}

pub(super) fn latency(data: &PageData<'_>) -> String {
    latencies(&data.analysis.summary).html("")
}

/// Where the late time went, what the access log says of it, and what this run could not have shown.
pub(super) fn why(data: &PageData<'_>) -> String {
    let PageData { explanation, .. } = data;
    let which = words::late(explanation);
    let causes = match explanation.causes.as_slice() {
        [] => String::new(),
        _ => story::causes(explanation).html(""),
    };
    let summary = &explanation.summary;
    let rows = match story::log_rows(summary) {
        None => list("The access log", ["No log line of a fetch under load is known."]),
        Some(rows) => rows.html("The access log") + &list("", [words::log(&summary.log_truth)]),
    };
    let hidden = summary.late.hidden.iter();
    let hidden = hidden.map(|hidden| format!("{}: {}", hidden.cause, hidden.reason));
    let hidden = list("What this run could not have shown", hidden);
    format!("<p>{}.</p>{causes}{rows}{hidden}", html(&which))
}

pub(super) fn about(data: &PageData<'_>) -> String {
    let Analysis { records: RunRecords { manifest, .. }, summary, .. } = data.analysis;
    let mut out =
        list(&format!("Why the verdict is {}", summary.verdict), &summary.verdict_reasons);
    let fault = |fault: &Fault| format!("in phase {}: {}", fault.phase.name(), fault.message);
    out += &list("What went wrong", manifest.faults.iter().map(fault));
    out += &list("Caveats", summary.caveats.iter().map(|caveat| &caveat.message));
    if summary.verdict == Verdict::Inconclusive {
        out.push_str("<p>The figures above are what was recorded; they prove nothing.</p>");
    }
    let _ = write!(
        out,
        "<h3>How to reproduce</h3><pre><code>{}</code></pre><p>Started {} (UTC); fetches under \
         load for {}, a fetch given up after {}, steps recorded from {} on.</p>",
        html(&shell_line(&manifest.command)),
        html(&manifest.started_at),
        summary.measured_us,
        manifest.arm.fetch.cap,
        manifest.hold_us
    );
    if let Some(signal) = &summary.interrupted {
        let reached = data.phases.last().map_or("setup", |(phase, _)| phase.name());
        let _ = write!(out, "<p>{} cut the run short in its phase {reached}.</p>", html(signal));
    }
    let settings = html(&crate::text::json(manifest));
    let title = "<summary>Machine, versions and settings</summary>";
    out + &format!("<details>{title}<pre><code>{settings}</code></pre></details>")
}

/// A list under a title; nothing where there is no item.
pub(crate) fn list(title: &str, items: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let item = |item: &str| format!("<li>{}</li>", html(item));
    let items: String = items.into_iter().map(|one| item(one.as_ref())).collect();
    match (items.as_str(), title) {
        ("", _) => String::new(),
        (items, "") => format!("<ul>{items}</ul>"),
        (items, title) => format!("<h3>{}</h3><ul>{items}</ul>", html(title)),
    }
}

/// The sample of a colour.
pub(crate) fn key(color: &str) -> String {
    format!("<i class=\"key\" style=\"--key:{color}\"></i>")
}
