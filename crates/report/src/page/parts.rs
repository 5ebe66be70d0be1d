//! The parts of the page that are text, tables and figures, from above to below.

use std::fmt::Write as _;

use analysis::Analysis;
use analysis::report::{Explanation, Held};
use records::{
    Micros, Outcome, OutcomeCounts, Phase, RunRecords, STARVED_SHARE, Summary, Verdict, Visibility,
    percent_beside, shell_line,
};

use super::PageData;
use super::table::{self, Table, key, list};
use crate::escape::html;
use crate::svg::{Figure, inline, palette};
use crate::text::brief::{self, Line};
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
    let mut notes: Vec<&str> = Vec::new();
    match data.analysis.summary.visibility {
        Visibility::LogOnly | Visibility::ClientsOnly => notes.push(
            "The workers of this proxy were not seen: nothing here tells what held its fetches.",
        ),
        Visibility::Threads => notes.push(
            "Threads of this server hand work to each other: no step is one thread's, and none is drawn.",
        ),
        Visibility::Own | Visibility::Traced | Visibility::Sampled => {
            if data.holds.is_empty() && data.absences.is_empty() {
                notes.push("No step long enough to hold others was seen.");
            }
        }
    }
    if data.has_unowned() && !data.workers.is_empty() {
        notes.push("The lowest lane has the fetches that no worker is known to have accepted.");
    }
    if notes.is_empty() {
        String::new()
    } else {
        format!("<p class=\"note\">{}</p>", notes.join(" "))
    }
}

/// What the colours and marks of the picture mean.
pub(super) fn legend(data: &PageData<'_>) -> String {
    const MOST: usize = 12;
    let mut out = String::new();
    let shown = if data.holds.is_empty() { &[][..] } else { &data.downloads };
    for slot in shown.iter().take(MOST) {
        let whose = words::holder(data.analysis.records.manifest.arm.load.holder(*slot));
        let _ = write!(out, "<li>{}{whose}</li>", key(palette::download(*slot)));
    }
    if shown.len() > MOST {
        let _ =
            write!(out, "<li>and {} more, in the same colours</li>", data.downloads.len() - MOST);
    }
    if data.holds.iter().any(|hold| palette::holder(hold.holder) == palette::OTHER) {
        let _ = write!(out, "<li>{}a fetch's step</li>", key(palette::OTHER));
    }
    if !data.stretches.is_empty() {
        out.push_str("<li><i class=\"key short\"></i>short steps</li>");
    }
    if !data.absences.is_empty() {
        out.push_str("<li><i class=\"key away\"></i>away from its poll, seen from outside</li>");
    }
    for outcome in data.outcomes() {
        let (mark, words) = (palette::reference(outcome, "0", 0.0), words::outcome(outcome).short);
        let _ = write!(
            out,
            "<li><svg class=\"figure mark\" viewBox=\"-5 -5 10 10\" aria-hidden=\"true\">{mark}</svg>\
             {words}</li>"
        );
    }
    out
}

/// Who held whom, in the words of the terminal.
pub(super) fn holders(data: &PageData<'_>) -> String {
    let holders = Explanation::of(data.analysis).holders;
    let item = |held: &Held| {
        format!("<li>{}{}</li>", key(palette::holder(held.holder)), html(&words::held(held)))
    };
    let items: String = holders.iter().take(HOLDERS).map(item).collect();
    if items.is_empty() { items } else { format!("<ul class=\"holders\">{items}</ul>") }
}

pub(super) fn latency(data: &PageData<'_>) -> String {
    let (idle, load) = (&data.analysis.summary.idle, &data.analysis.summary.measure);
    let figure = figure(
        data,
        Figure::Latency,
        "Latency by percentile",
        "Stairs to the right are the slower fetches; dashed: given up or failed, so that it \
         would have taken longer still.",
    );
    let heads = ["", "attempts", "failed", "p50", "p90", "p99", "slowest"];
    let mut table = Table::new("", "Fetches", &heads);
    for (name, key, phase) in [("idle", "idle", idle), ("under load", "measure", load)] {
        let l = &phase.latency_us;
        let share = percent_beside(phase.failed_share, STARVED_SHARE);
        let failed = format!("{} ({share})", phase.outcomes.failed());
        let time = |us| match phase.attempts {
            0 => "\u{2013}".to_owned(),
            _ => Micros(us).to_string(),
        };
        let mut cells = vec![phase.attempts.to_string(), failed];
        cells.extend([l.p50, l.p90, l.p99, l.max].map(time));
        table.row(&format!("row-{key}"), name, cells);
    }
    figure + &table.end()
}

pub(super) fn why(data: &PageData<'_>) -> String {
    let late = &data.analysis.summary.late;
    let figure = figure(
        data,
        Figure::Causes,
        "Where the late time went",
        if late.phase == Phase::Idle {
            "Without any load: a fetch is late that failed or stalled, and these are no baseline."
        } else {
            "A fetch is late when it failed or took over three times the idle p99."
        },
    );
    let hidden = late.hidden.iter();
    let hidden = hidden.map(|hidden| format!("{}: {}", hidden.cause, hidden.reason));
    figure + &log(data) + &list("What this run could not have shown", hidden)
}

/// The access log beside what clients saw.
fn log(data: &PageData<'_>) -> String {
    let Summary { proxy, log_truth, .. } = &data.analysis.summary;
    let known = proxy.status_outcomes.iter().map(|(status, of)| (status.to_string(), of));
    let unlogged = (proxy.unlogged.attempts() > 0).then(|| ("no line".to_owned(), &proxy.unlogged));
    let rows: Vec<(String, &OutcomeCounts)> = known.chain(unlogged).collect();
    if rows.is_empty() {
        return list("The access log", ["No log line of a fetch under load is known."]);
    }
    let heads = ["the log says", "fetches", "what their clients saw"];
    let mut table = Table::new("", "The access log", &heads);
    for (status, counts) in rows {
        let saw = Outcome::ALL.into_iter().filter(|outcome| counts.count(*outcome) > 0);
        let saw = saw.map(|of| format!("{} {}", counts.count(of), words::outcome(of).short));
        table.row("", status, [counts.attempts().to_string(), saw.collect::<Vec<_>>().join(", ")]);
    }
    table.end() + &list("", [words::log(log_truth)])
}

pub(super) fn queues(data: &PageData<'_>) -> String {
    figure(
        data,
        Figure::AcceptQueue,
        "Accept queues",
        "Connections that the kernel has finished and no worker has taken yet.",
    )
}

fn figure(data: &PageData<'_>, which: Figure, title: &str, told: &str) -> String {
    let drawn = inline(data, which).map(|svg| format!("<div class=\"drawn\">{svg}</div>"));
    table::figure(which, title, told, drawn)
}

pub(super) fn about(data: &PageData<'_>) -> String {
    let Analysis { records: RunRecords { manifest, .. }, summary, .. } = data.analysis;
    let mut out =
        list(&format!("Why the verdict is {}", summary.verdict), &summary.verdict_reasons);
    out += &list("What went wrong", table::faults(manifest));
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
    out + &table::environment(&table::conditions(manifest))
}
