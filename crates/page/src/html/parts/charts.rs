//! Figures with what is to be read in them, and the tables beside them.

use records::{Micros, Outcome, Phase, STARVED_SHARE, percent_beside};

use crate::data::PageData;
use crate::html::table::{self, Table, list};
use crate::svg::{Figure, inline};
use crate::words;

pub(in crate::html) fn latency(data: &PageData) -> String {
    let (idle, load) = (&data.summary.idle, &data.summary.measure);
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

pub(in crate::html) fn why(data: &PageData) -> String {
    let mut out = String::from("<div class=\"pair\">");
    out += &figure(
        data,
        Figure::Causes,
        "Where the late time went",
        if data.summary.late.phase == Phase::Idle {
            "Without any load: a fetch is late that failed or stalled, and these are no baseline."
        } else {
            "A fetch is late when it failed or took over three times the idle p99."
        },
    );
    out += &log_truth(data);
    out.push_str("</div>");
    let hidden = data.summary.late.hidden.iter();
    let hidden = hidden.map(|hidden| format!("{}: {}", hidden.cause, hidden.reason));
    out + &list("What this run could not have shown", hidden)
}

fn log_truth(data: &PageData) -> String {
    let (proxy, truth) = (&data.summary.proxy, &data.summary.log_truth);
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
    if let Some(gap) = &data.summary.log_gap {
        items.push(format!(
            "Fetch {} on worker {}: the log says {} after {}, its client waited {}.",
            gap.fetch, gap.worker, gap.status, gap.logged_us, gap.true_us
        ));
    }
    out + &list("", items) + "</figure>"
}

pub(in crate::html) fn over_time(data: &PageData) -> String {
    let mut out = String::from("<div class=\"pair\">");
    out += &figure(
        data,
        Figure::AcceptQueue,
        "Accept queues",
        "Connections that the kernel has finished and no worker has taken yet.",
    );
    out += &figure(data, Figure::Throughput, "Downloads", "What each download received.");
    if !data.receive_queues.is_empty() {
        out += &figure(
            data,
            Figure::ReceiveQueue,
            "Receive queues",
            "Bytes of each download that wait in its worker's socket: while there are any, a \
             step has no end.",
        );
    }
    out.push_str("</div>");
    out
}

fn figure(data: &PageData, which: Figure, title: &str, told: &str) -> String {
    let drawn = inline(data, which).map(|svg| format!("<div class=\"drawn\">{svg}</div>"));
    table::figure(which, title, told, drawn)
}
