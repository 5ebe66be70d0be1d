//! Figures with what is to be read in them, and the tables beside them.

use std::fmt::Write as _;

use records::{Micros, Outcome, Phase, STARVED_SHARE, percent_beside};

use super::outcome_words;
use crate::data::PageData;
use crate::escape::html;
use crate::svg::{Figure, inline};

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
    out.push_str(
        "</div><div class=\"scroll\"><table><caption>Fetches</caption><thead><tr><td>\
     </td>\
         <th scope=\"col\">attempts</th><th scope=\"col\">failed</th><th scope=\"col\">p50</th>\
         <th scope=\"col\">p90</th><th scope=\"col\">p99</th><th scope=\"col\">slowest</th>\
          </tr></thead><tbody>",
    );
    for (name, key, phase) in [("idle", "idle", idle), ("under load", "measure", load)] {
        let l = &phase.latency_us;
        let cells = if phase.attempts == 0 {
            "<td colspan=\"4\">no fetch</td>".to_owned()
        } else {
            [l.p50, l.p90, l.p99, l.max].map(|us| format!("<td>{}</td>", Micros(us))).concat()
        };
        let _ = write!(
            out,
            "<tr id=\"row-{key}\"><th scope=\"row\">{name}</th><td>{}</td><td>{} \
             ({})</td>{cells}</tr>",
            phase.attempts,
            phase.outcomes.failed(),
            percent_beside(phase.failed_share, STARVED_SHARE)
        );
    }
    out.push_str("</tbody></table></div>");
    out
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
    if !data.summary.late.hidden.is_empty() {
        out.push_str("<h3>What this run could not have shown</h3><ul>");
        for hidden in &data.summary.late.hidden {
            let _ = write!(out, "<li>{}: {}</li>", hidden.cause, html(&hidden.reason));
        }
        out.push_str("</ul>");
    }
    out
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
    out.push_str(
        "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">the log says</th>\
     <th scope=\"col\">fetches</th><th scope=\"col\">what their clients saw</th></tr></thead>\
      <tbody>",
    );
    let mut row = |status: &str, counts: &records::OutcomeCounts| {
        let saw: Vec<String> = Outcome::ALL
            .into_iter()
            .filter(|outcome| counts.count(*outcome) > 0)
            .map(|outcome| format!("{} {}", counts.count(outcome), outcome_words(outcome)))
            .collect();
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{status}</th><td>{}</td><td>{}</td></tr>",
            counts.attempts(),
            html(&saw.join(", "))
        );
    };
    for (status, counts) in &proxy.status_outcomes {
        row(&status.to_string(), counts);
    }
    if proxy.unlogged.attempts() > 0 {
        row("nothing", &proxy.unlogged);
    }
    out.push_str("</tbody></table></div><ul>");
    let mut item = |text: String| {
        let _ = write!(out, "<li>{}</li>", html(&text));
    };
    if truth.failed > 0 {
        item(format!(
            "{} failed for their client; the log calls {} of them 200 and has no line for {}.",
            truth.failed, truth.called_ok, truth.unlogged
        ));
    }
    if truth.understated > 0 {
        item(format!(
            "For {} fetches the logged time is under half of the true one.",
            truth.understated
        ));
    }
    if let Some(gap) = &data.summary.log_gap {
        item(format!(
            "Fetch {} on worker {}: the log says {} after {}, its client waited {}.",
            gap.fetch, gap.worker, gap.status, gap.logged_us, gap.true_us
        ));
    }
    out.push_str("</ul></figure>");
    out
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
    let drawn = inline(data, which).map_or_else(
        || "<p class=\"nothing\">This run has nothing to show here.</p>".to_owned(),
        |svg| format!("<div class=\"drawn\">{svg}</div>"),
    );
    format!(
        "<figure id=\"figure-{which}\"><figcaption><h3>{}</h3><p>{}</p>\
         </figcaption>{drawn}</figure>",
        html(title),
        html(told)
    )
}
