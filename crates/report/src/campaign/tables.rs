//! Tables: the arms, a pair's metrics, the trials with links to their pages, a case's figures.

use std::fmt::Write as _;

use records::run_dir::REPORT;
use records::{BytesPerSec, Micros, Verdict};

use crate::campaign::{
    ArmData, CampaignData, CaseFigure, MetricInput, PairInput, Standing, TrialData, words,
};
use crate::escape::{self, html};
use crate::html::table::{Table, key, list};

const UNKNOWN: &str = "\u{2013}";
/// Of many columns.
const WIDE: &str = " class=\"wide\"";

/// A row an arm: what its trials say together.
pub(super) fn arms(campaign: &CampaignData) -> String {
    let heads = [
        "arm",
        "verdicts",
        "failed",
        "idle p50",
        "p50",
        "p90",
        "p99",
        "slowest",
        "downloads",
        "longest step",
        "CPU/GB",
    ];
    let mut table = Table::new(WIDE, "", &heads);
    for (place, arm) in campaign.arms.iter().enumerate() {
        let (name, options) = (html(&arm.name), html(&options(arm)));
        let head = format!("{}{name}<br><small><code>{options}</code></small>", key(arm.ink));
        table.row(&format!("arm-{place}"), head, cells(arm));
    }
    let told = "Percentiles are medians of the rounds' percentiles.";
    format!("{}<p class=\"nothing\">{told}</p>", table.end())
}

fn options(arm: &ArmData) -> String {
    let options = if arm.options.is_empty() { "no option" } else { arm.options.as_str() };
    match &arm.row.version {
        Some(version) if !version.is_empty() => format!("{options} ({version})"),
        _ => options.to_owned(),
    }
}

fn cells(arm: &ArmData) -> [String; 10] {
    let row = &arm.row;
    let verdicts = arm.verdicts.iter();
    let verdicts = verdicts.map(|(verdict, trials)| format!("{trials} {}", word(*verdict)));
    let verdicts = match verdicts.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "no trial yet".to_owned(),
        verdicts => verdicts,
    };
    let known = |time: Option<Micros>| time.map_or_else(|| UNKNOWN.into(), |time| time.to_string());
    let time = |time: Micros| known((row.attempts > 0).then_some(time));
    let failed = match row.tried {
        0 => UNKNOWN.to_owned(),
        tried => format!("{} of {tried}", row.failed),
    };
    let rate = row.slow_rate;
    [
        verdicts,
        failed,
        time(row.idle_p50),
        time(row.p50),
        time(row.p90),
        time(row.p99),
        time(row.max),
        if rate == BytesPerSec(0) { UNKNOWN.into() } else { rate.to_string() },
        known(row.longest_step),
        known(row.cpu_per_gb),
    ]
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
    out += &list("", left_out);
    let (a, b) = (html(a), html(b));
    let heads = ["metric", &a, &b, "change", "95 % interval", "rounds up/down/still", "p", "so"];
    let mut table = Table::new(WIDE, "", &heads);
    for metric in metrics {
        let MetricInput { a, b, change, interval, votes, p, said, .. } = metric;
        let cells = [a, b, change, interval, votes, p, said].map(|cell| html(cell));
        table.row("", html(&words::metric(&metric.name)), cells);
    }
    out + &table.end()
}

/// A row a round, a column an arm; every cell leads to the trial's own page.
pub(super) fn trials(campaign: &CampaignData) -> String {
    let arms = campaign.arms.iter().map(|arm| key(arm.ink) + &html(&arm.name));
    let heads: Vec<String> = std::iter::once("round".to_owned()).chain(arms).collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = Table::new(WIDE, "", &heads);
    for round in 1..=campaign.rounds {
        let cell = |arm: &ArmData| {
            let trial = arm.trials.iter().find(|trial| trial.round == round);
            trial.map_or_else(|| "<span class=\"nothing\">not run</span>".to_owned(), self::trial)
        };
        table.row("", round, campaign.arms.iter().map(cell));
    }
    table.end()
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
        let (name, page) =
            (html(&arm.name), html(&escape::path(&arm.dir.join(REPORT).display().to_string())));
        let _ = write!(out, "<h3>{name}: <a href=\"{page}\">{}</a></h3>", word(arm.verdict));
        let mut table = Table::new("", "", &["figure", "here", "published"]);
        for CaseFigure { label, here, published } in &arm.figures {
            let told = |told: &Option<String>| told.as_ref().map_or(UNKNOWN.into(), |s| html(s));
            table.row("", html(label), [told(here), told(published)]);
        }
        out += &table.end();
    }
    out + "</section>"
}
