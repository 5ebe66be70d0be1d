//! The page of a campaign: its template, and the parts that are filled in.

use std::fmt::Write as _;

use analysis::guard::PairOf;
use analysis::guard::rounds::Ran;
use records::{Micros, Verdict, count, shell_line};
use stats::Change;

use super::table::{self, Table, environment, key, list, machine};
use super::{THEME, fill, framed};
use crate::campaign::{Arm, Campaign, CaseFigure, page_of};
use crate::escape::{self, html};
use crate::svg::{Figure, inline_campaign, palette};
use crate::text::{ARM_HEADS, arm_cells, left_out, metric_cells, reasons};

const TEMPLATE: &str = include_str!("../../assets/campaign.html");
const UNKNOWN: &str = "\u{2013}";
/// Of many columns.
const WIDE: &str = " class=\"wide\"";

/// The campaign as one HTML file: style and script inside, nothing to load. Links lead to the
/// pages of its trials, as paths relative to its own.
pub fn campaign_html(campaign: &Campaign) -> String {
    let body = fill(TEMPLATE, |name| part(name, campaign));
    framed(&campaign.title(), &body, THEME)
}

fn part(name: &str, campaign: &Campaign) -> String {
    match name {
        "subtitle" => html(&campaign.title()),
        "chips" => chips(campaign),
        "sentence" => html(&campaign.sentence()),
        "cut" => campaign
            .cut_short()
            .map_or_else(String::new, |why| format!("<p class=\"cut\">{}</p>", html(&why))),
        "command" => html(&shell_line(&campaign.command)),
        "arms" => arms(campaign),
        "differences" => differences(campaign),
        "case" => case(campaign),
        "trials" => trials(campaign),
        "about" => about(campaign),
        _ => String::new(),
    }
}

/// The words at the top, in their colours: one for each pair where there are few, else what the
/// campaign is for.
fn chips(campaign: &Campaign) -> String {
    let chip =
        |word: &str, class: &str| format!("<span class=\"chip {class}\">{}</span>", html(word));
    let plain = verdict_class(Verdict::Inconclusive);
    let mut chips = match campaign.pairs() {
        [] => chip(&campaign.purpose, plain),
        pairs if pairs.len() > 3 => chip(&format!("{} pairs", pairs.len()), plain),
        pairs => {
            let changes = pairs.iter().map(|pair| pair.judgement.change);
            changes.map(|change| chip(change.name(), change_class(change))).collect()
        }
    };
    if campaign.cut_short().is_some() {
        chips += &chip("not whole", verdict_class(Verdict::Degraded));
    }
    chips
}

const fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Starved => "verdict-starved",
        Verdict::Degraded => "verdict-degraded",
        Verdict::Healthy => "verdict-healthy",
        Verdict::Inconclusive => "verdict-inconclusive",
    }
}

const fn change_class(change: Change) -> &'static str {
    verdict_class(match change {
        Change::Regressed => Verdict::Starved,
        Change::Improved => Verdict::Healthy,
        Change::NoChange | Change::Inconclusive => Verdict::Inconclusive,
    })
}

fn arms(campaign: &Campaign) -> String {
    // Tall and dense: on a narrow screen it is moved, not shrunk.
    let drawn = inline_campaign(campaign)
        .map(|svg| format!("<div class=\"scroll\"><div class=\"drawn dense\">{svg}</div></div>"));
    let title = "How long fetches took";
    let told = "Percentiles of each round, on one scale. A triangle: fetches were given up there, \
                and would have taken longer still.";
    table_of_arms(campaign) + &table::figure(Figure::Latency, title, told, drawn)
}

/// A row an arm: what its trials say together.
fn table_of_arms(campaign: &Campaign) -> String {
    let mut table = Table::new(WIDE, "", &shown(ARM_HEADS));
    for (place, arm) in (0..).zip(&campaign.arms) {
        let mut options = shell_line(&arm.spec.args);
        if options.is_empty() {
            "no option".clone_into(&mut options);
        }
        let [name, cells @ ..] = shown(arm_cells(&arm.row)).map(|cell| html(&cell));
        let head = format!(
            "{}{name}<br><small><code>{}</code></small>",
            key(palette::download(place)),
            html(&options)
        );
        table.row(&format!("arm-{place}"), head, cells);
    }
    let told = "Percentiles are medians of the rounds' percentiles.";
    format!("{}<p class=\"nothing\">{told}</p>", table.end())
}

/// Of the columns that a table of arms has, those that fit onto a sheet.
fn shown<T>(columns: [T; 14]) -> [T; 10] {
    let [name, _, _, verdicts, p50, p90, p99, max, failed, _, downloads, turn, _, cpu] = columns;
    [name, verdicts, failed, p50, p90, p99, max, downloads, turn, cpu]
}

/// A verdict in its colour.
fn word(verdict: Verdict) -> String {
    format!("<span class=\"word {}\">{verdict}</span>", verdict_class(verdict))
}

fn differences(campaign: &Campaign) -> String {
    if campaign.pairs().is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<section id=\"differences\" aria-labelledby=\"h-differences\"><h2 \
         id=\"h-differences\">The differences</h2>",
    );
    out.extend(campaign.pairs().iter().map(pair));
    out + "</section>"
}

/// A pair: the word, why, and every metric.
fn pair(PairOf { a, b, judgement, .. }: &PairOf) -> String {
    let (a, b) = (html(a), html(b));
    let mut out = format!(
        "<h3>{b} against {a}: <span class=\"word {}\">{}</span></h3><p>{}.</p>",
        change_class(judgement.change),
        judgement.change,
        html(&reasons(judgement))
    );
    out += &list("", judgement.left_out.iter().map(left_out));
    let heads = ["metric", &a, &b, "change", "95 % interval", "rounds up/down/still", "p", "so"];
    let mut table = Table::new(WIDE, "", &heads);
    for metric in &judgement.comparisons {
        let [name, cells @ ..] = metric_cells(metric).map(|cell| html(&cell));
        table.row("", name, cells);
    }
    out + &table.end()
}

/// A row a round, a column an arm; every cell leads to the trial's own page.
fn trials(campaign: &Campaign) -> String {
    let arms = (0..).zip(&campaign.arms);
    let arms = arms.map(|(place, arm)| key(palette::download(place)) + &html(&arm.spec.name));
    let heads: Vec<String> = std::iter::once("round".to_owned()).chain(arms).collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = Table::new(WIDE, "", &heads);
    for round in 0..campaign.rounds {
        let cell = |arm: &Arm| {
            let trial = arm.trials.iter().find(|trial| trial.round == round);
            trial.map_or_else(|| "<span class=\"nothing\">not run</span>".to_owned(), self::trial)
        };
        table.row("", round + 1, campaign.arms.iter().map(cell));
    }
    table.end()
}

fn trial(Ran { dir, summary, .. }: &Ran) -> String {
    let measure = &summary.measure;
    let p50 = match measure.attempts {
        0 => String::new(),
        _ => format!(", p50 {}", Micros(measure.latency_us.p50)),
    };
    format!(
        "<a href=\"{}\" title=\"{}\">{}</a><br><small>{} failed{p50}</small>",
        html(&escape::path(&page_of(dir))),
        html(summary.verdict_reasons.first().map_or("", String::as_str)),
        word(summary.verdict),
        crate::words::failed(&measure.outcomes),
    )
}

/// A published situation: its words, and its figures beside ours.
fn case(campaign: &Campaign) -> String {
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
        let (name, page) = (html(&arm.name), html(&escape::path(&page_of(&arm.dir))));
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

fn about(campaign: &Campaign) -> String {
    let mut out = list("Caveats of the trials", campaign.caveats());
    let _ = write!(
        out,
        "<h3>How to reproduce</h3><pre><code>{}</code></pre><p>{} of {} wanted; seed {}. Rounds \
         hold one trial of every arm, in an order drawn from the seed. Each trial is the command \
         that stands on its own page.</p>",
        html(&shell_line(&campaign.command)),
        count(campaign.done() as u64, "trial", "trials"),
        campaign.planned,
        campaign.seed
    );
    out + &environment(&campaign.manifest.as_ref().map(machine).unwrap_or_default())
}
