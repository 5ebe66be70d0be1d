//! The parts of the page that are text, tables and figures, from above to below.

use std::fmt::Write as _;

use analysis::Analysis;
use records::{
    Holder, Micros, Outcome, Phase, RunRecords, STARVED_SHARE, Verdict, Visibility, percent_beside,
    shell_line,
};

use super::head::FigureLine;
use super::table::{self, Table, key, list};
use super::{Blame, HoldData, PageData, environment};
use crate::escape::html;
use crate::svg::{Figure, inline, marks, palette};
use crate::words;

/// The figures that carry the verdict.
pub(crate) fn figures(figures: &[FigureLine]) -> String {
    let mut out = String::new();
    for figure in figures {
        let _ = write!(
            out,
            "<div class=\"figure-line\"><b>{}</b><span>{}</span><small>{}</small></div>",
            html(&figure.value),
            html(&figure.of),
            html(&figure.against)
        );
    }
    out
}

/// What the picture cannot show of this run.
pub(super) fn unseen(data: &PageData<'_>) -> String {
    let mut notes: Vec<&str> = Vec::new();
    match data.analysis.summary.visibility {
        Visibility::LogOnly | Visibility::ClientsOnly => notes.push(
            "The workers of this proxy were not seen: nothing here tells what held its fetches.",
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
        let _ = write!(out, "<li>{}download {slot}</li>", key(palette::download(*slot)));
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
        let (mark, words) = (marks::reference(outcome, "0", 0.0), words::outcome(outcome).short);
        let _ = write!(
            out,
            "<li><svg class=\"figure mark\" viewBox=\"-5 -5 10 10\" aria-hidden=\"true\">{mark}</svg>\
             {words}</li>"
        );
    }
    out
}

/// Who held whom.
pub(super) fn blame(data: &PageData<'_>) -> String {
    let holders: Vec<&Blame> = data.blame.iter().filter(|blame| blame.waited > Micros(0)).collect();
    if holders.is_empty() {
        return String::new();
    }
    let heads = [
        "who",
        "failed fetches it held longest",
        "fetches that waited in its steps",
        "their waits together",
        "its longest such step",
    ];
    let mut table = Table::new("", "Whose steps held the fetches under load", &heads);
    for blame in holders {
        let (ink, who) = match blame.slot.map(|slot| (palette::download(slot), slot)) {
            Some((ink, slot)) => (ink, words::holder(Holder::Download(slot))),
            None => (palette::OTHER, "others".to_owned()),
        };
        let longest = data.holds.get(blame.longest).map(HoldData::told).unwrap_or_default();
        let (led, fetches) = (blame.led_failed.to_string(), blame.fetches.to_string());
        let cells = [led, fetches, blame.waited.to_string(), longest];
        table.row("", key(ink) + &who, cells);
    }
    table.end()
}

pub(super) fn latency(data: &PageData<'_>) -> String {
    let (idle, load) = (&data.analysis.summary.idle, &data.analysis.summary.measure);
    let mut out = String::from("<div class=\"pair\">");
    out += &figure(
        data,
        Figure::Latency,
        "Latency by percentile",
        "Stairs to the right are the slower fetches; dashed: given up or failed, so that it \
         would have taken longer still.",
    );
    out += &figure(
        data,
        Figure::Survival,
        "Not yet done",
        "Of all fetches, the share that still waits at an age. Timeouts count as not done.",
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
    out + "</div>" + &table.end()
}

pub(super) fn why(data: &PageData<'_>) -> String {
    let mut out = String::from("<div class=\"pair\">");
    out += &figure(
        data,
        Figure::Causes,
        "Where the late time went",
        if data.analysis.summary.late.phase == Phase::Idle {
            "Without any load: a fetch is late that failed or stalled, and these are no baseline."
        } else {
            "A fetch is late when it failed or took over three times the idle p99."
        },
    );
    out += &log_truth(data);
    out.push_str("</div>");
    let hidden = data.analysis.summary.late.hidden.iter();
    let hidden = hidden.map(|hidden| format!("{}: {}", hidden.cause, hidden.reason));
    out + &list("What this run could not have shown", hidden)
}

fn log_truth(data: &PageData<'_>) -> String {
    let summary = &data.analysis.summary;
    let (proxy, truth) = (&summary.proxy, &summary.log_truth);
    let mut out = String::from(
        "<figure><figcaption><h3>The access log against the truth</h3>\
         </figcaption>",
    );
    if proxy.status_outcomes.is_empty() && proxy.unlogged.attempts() == 0 {
        return out
            + "<p class=\"nothing\">No log line of a fetch under load is known.</p></figure>";
    }
    let heads = ["the log says", "fetches", "what their clients saw"];
    let mut table = Table::new("", "", &heads);
    let mut row = |status: &str, counts: &records::OutcomeCounts| {
        let saw = Outcome::ALL.into_iter().filter(|outcome| counts.count(*outcome) > 0);
        let saw = saw.map(|of| format!("{} {}", counts.count(of), words::outcome(of).short));
        let saw = saw.collect::<Vec<_>>().join(", ");
        table.row("", status, [counts.attempts().to_string(), saw]);
    };
    for (status, counts) in &proxy.status_outcomes {
        row(&status.to_string(), counts);
    }
    if proxy.unlogged.attempts() > 0 {
        row("nothing", &proxy.unlogged);
    }
    out += &table.end();
    let mut items: Vec<String> = Vec::new();
    if truth.failed > 0 {
        items.push(format!(
            "{} failed for their client; the log calls {} of them 200 and has no line for {}.",
            truth.failed, truth.called_ok, truth.unlogged
        ));
    }
    if truth.understated > 0 {
        items.push(format!(
            "For {} fetches the logged time is under half of the true one.",
            truth.understated
        ));
    }
    if let Some(gap) = &summary.log_gap {
        items.push(format!(
            "Fetch {} on worker {}: the log says {} after {}, its client waited {}.",
            gap.fetch, gap.worker, gap.status, gap.logged_us, gap.true_us
        ));
    }
    out + &list("", items) + "</figure>"
}

pub(super) fn over_time(data: &PageData<'_>) -> String {
    let mut out = String::from("<div class=\"pair\">");
    out += &figure(
        data,
        Figure::AcceptQueue,
        "Accept queues",
        "Connections that the kernel has finished and no worker has taken yet.",
    );
    out += &figure(data, Figure::Throughput, "Downloads", "What each download received.");
    out += &figure(
        data,
        Figure::ReceiveQueue,
        "Receive queues",
        "Bytes of each download that wait in its worker's socket: while there are any, a \
             step has no end.",
    );
    out.push_str("</div>");
    out
}

fn figure(data: &PageData<'_>, which: Figure, title: &str, told: &str) -> String {
    let drawn = inline(data, which).map(|svg| format!("<div class=\"drawn\">{svg}</div>"));
    table::figure(which, title, told, drawn)
}

pub(super) fn about(data: &PageData<'_>) -> String {
    let Analysis { records: RunRecords { manifest, .. }, summary, .. } = data.analysis;
    let mut out =
        list(&format!("Why the verdict is {}", summary.verdict), &summary.verdict_reasons);
    out += &list("What went wrong", environment::faults(manifest));
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
    out + &table::environment(&environment::rows(manifest))
}
