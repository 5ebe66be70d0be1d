//! Tables: the arms, a pair's metrics, the trials with links to their pages, a case's figures.

use std::fmt::Write as _;

use records::{BytesPerSec, Micros, Verdict};

use crate::campaign::{ArmData, CampaignData, PairInput, Standing, TrialData, words};
use crate::escape::{self, html};

const UNKNOWN: &str = "\u{2013}";

/// A row an arm: what its trials say together.
pub(super) fn arms(campaign: &CampaignData) -> String {
    let mut out = String::from(
        "<div class=\"scroll\"><table class=\"wide\"><thead><tr><th scope=\"col\">arm</th>\
         <th scope=\"col\">verdicts</th><th scope=\"col\">failed</th><th scope=\"col\">idle \
         p50</th><th scope=\"col\">p50</th><th scope=\"col\">p90</th><th scope=\"col\">p99</th>\
         <th scope=\"col\">slowest</th><th scope=\"col\">downloads</th><th scope=\"col\">longest \
         step</th><th scope=\"col\">CPU/GB</th></tr></thead><tbody>",
    );
    for (place, arm) in campaign.arms.iter().enumerate() {
        let _ = write!(
            out,
            "<tr id=\"arm-{place}\"><th scope=\"row\">{}{}<br><small><code>{}</code></small></th>\
             {}</tr>",
            key(arm),
            html(&arm.name),
            html(&options(arm)),
            cells(arm)
        );
    }
    out.push_str(
        "</tbody></table></div><p class=\"nothing\">Percentiles are medians of the \
                  rounds' percentiles.</p>",
    );
    out
}

fn key(arm: &ArmData) -> String {
    let hatched = if arm.hatched { " hatched" } else { "" };
    format!("<i class=\"key{hatched}\" style=\"--key:{}\"></i>", arm.color)
}

fn options(arm: &ArmData) -> String {
    let options = if arm.options.is_empty() { "no option" } else { arm.options.as_str() };
    match &arm.row.version {
        Some(version) if !version.is_empty() => format!("{options} ({version})"),
        _ => options.to_owned(),
    }
}

fn cells(arm: &ArmData) -> String {
    let row = &arm.row;
    let verdicts: Vec<String> = arm
        .verdicts
        .iter()
        .map(|(verdict, trials)| format!("{trials} {}", word(*verdict)))
        .collect();
    let time = |time: Micros| if row.attempts == 0 { UNKNOWN.into() } else { time.to_string() };
    let known = |time: Option<Micros>| time.map_or_else(|| UNKNOWN.into(), |time| time.to_string());
    let failed = match row.tried {
        0 => UNKNOWN.to_owned(),
        tried => format!("{} of {tried}", row.failed),
    };
    let rate = row.slow_rate;
    let cells: [String; 9] = [
        failed,
        time(row.idle_p50),
        time(row.p50),
        time(row.p90),
        time(row.p99),
        time(row.max),
        if rate == BytesPerSec(0) { UNKNOWN.into() } else { rate.to_string() },
        known(row.longest_step),
        known(row.cpu_per_gb),
    ];
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    let verdicts =
        if verdicts.is_empty() { "no trial yet".to_owned() } else { verdicts.join(", ") };
    format!("<td>{verdicts}</td>{cells}")
}

/// A verdict in its colour.
fn word(verdict: Verdict) -> String {
    format!("<span class=\"word {}\">{verdict}</span>", Standing::Verdict(verdict).class())
}

/// A pair: the word, why, and every metric.
pub(super) fn pair(pair: &PairInput) -> String {
    let PairInput { a, b, change, reasons, left_out, metrics } = pair;
    let mut out = format!(
        "<h3>{} against {}: <span class=\"word {}\">{change}</span></h3><p>{}.</p>",
        html(b),
        html(a),
        Standing::Change(*change).class(),
        html(&reasons.join("; "))
    );
    if !left_out.is_empty() {
        let items: String =
            left_out.iter().map(|item| format!("<li>{}</li>", html(item))).collect();
        let _ = write!(out, "<ul>{items}</ul>");
    }
    let _ = write!(
        out,
        "<div class=\"scroll\"><table class=\"wide\"><thead><tr><th scope=\"col\">metric</th>\
         <th scope=\"col\">{}</th><th scope=\"col\">{}</th><th scope=\"col\">change</th>\
         <th scope=\"col\">95 % interval</th><th scope=\"col\">rounds up/down/still</th>\
         <th scope=\"col\">p</th><th scope=\"col\">so</th></tr></thead><tbody>",
        html(a),
        html(b)
    );
    for metric in metrics {
        let cells = [
            &metric.a,
            &metric.b,
            &metric.change,
            &metric.interval,
            &metric.votes,
            &metric.p,
            &metric.said,
        ];
        let cells: String = cells.iter().map(|cell| format!("<td>{}</td>", html(cell))).collect();
        let name = html(&words::metric(&metric.name));
        let _ = write!(out, "<tr><th scope=\"row\">{name}</th>{cells}</tr>");
    }
    out + "</tbody></table></div>"
}

/// A row a round, a column an arm; every cell leads to the trial's own page.
pub(super) fn trials(campaign: &CampaignData) -> String {
    let mut out = String::from(
        "<div class=\"scroll\"><table class=\"wide\"><thead><tr><th scope=\"col\">round</th>",
    );
    for arm in &campaign.arms {
        let _ = write!(out, "<th scope=\"col\">{}{}</th>", key(arm), html(&arm.name));
    }
    out.push_str("</tr></thead><tbody>");
    for round in 1..=campaign.rounds {
        let _ = write!(out, "<tr><th scope=\"row\">{round}</th>");
        for arm in &campaign.arms {
            let of_round = |trial: &&TrialData| trial.round == round;
            out += &arm.trials.iter().find(of_round).map_or_else(
                || "<td class=\"nothing\">not run</td>".to_owned(),
                |trial| format!("<td>{}</td>", self::trial(trial)),
            );
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    out
}

fn trial(trial: &TrialData) -> String {
    let TrialData { page, verdict, reason, tried, failed, latency, .. } = trial;
    let [_, p50, ..] = latency;
    let p50 = p50.map_or_else(String::new, |p50| format!(", p50 {}", Micros(p50.us)));
    let told = format!("{failed} of {tried} failed{p50}");
    format!(
        "<a href=\"{}\" title=\"{}\">{}</a><br><small>{told}</small>",
        html(&escape::path(page)),
        html(reason),
        word(*verdict)
    )
}

/// A published situation: its words, and its figures beside ours.
pub(super) fn case(campaign: &CampaignData) -> String {
    let Some(case) = &campaign.case else { return String::new() };
    let mut out = format!(
        "<section id=\"case\" aria-labelledby=\"h-case\"><h2 id=\"h-case\">{}</h2>",
        html(&case.title)
    );
    for paragraph in &case.story {
        let _ = write!(out, "<p>{}</p>", html(paragraph));
    }
    let (source, look) = (html(&case.source), html(&case.look));
    let _ = write!(out, "<p><b>Source:</b> {source}</p><p><b>Look at:</b> {look}</p>");
    for arm in &case.arms {
        let _ = write!(
            out,
            "<h3>{}: <a href=\"{}\">{}</a></h3><div class=\"scroll\"><table><thead><tr>\
             <th scope=\"col\">figure</th><th scope=\"col\">here</th><th \
             scope=\"col\">published</th></tr></thead><tbody>",
            html(&arm.name),
            html(&escape::path(&arm.page)),
            word(arm.verdict)
        );
        for figure in &arm.figures {
            let told =
                |told: &Option<String>| told.as_ref().map_or(UNKNOWN.into(), |text| html(text));
            let _ = write!(
                out,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>",
                html(&figure.label),
                told(&figure.here),
                told(&figure.published)
            );
        }
        out.push_str("</tbody></table></div>");
    }
    out + "</section>"
}
