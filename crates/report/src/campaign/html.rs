//! The page of a campaign: its template, and the parts that are filled in.

use std::fmt::Write as _;

use super::{CampaignData, Standing, tables};
use crate::escape::html;
use crate::html::table::{self, environment, list};
use crate::html::{THEME, fill, framed, parts::figures};
use crate::svg::{Figure, inline_campaign};
use records::count;

const TEMPLATE: &str = include_str!("../../assets/campaign.html");

/// The campaign as one HTML file: style, script and data inside, nothing to load. Links lead to the
/// pages of its trials, as paths relative to its own.
pub fn campaign_html(campaign: &CampaignData) -> String {
    let json = serde_json::json!(campaign).to_string();
    let body = fill(TEMPLATE, |name| part(name, campaign));
    framed(&campaign.title, &body, &json, THEME)
}

fn part(name: &str, campaign: &CampaignData) -> String {
    match name {
        "subtitle" => html(&campaign.title),
        "chips" => chips(campaign),
        "sentence" => html(&campaign.sentence),
        "cut" => campaign
            .cut_short
            .as_ref()
            .map_or_else(String::new, |why| format!("<p class=\"cut\">{}</p>", html(why))),
        "figures" => figures(&campaign.figures),
        "command" => html(&campaign.command),
        "arms" => arms(campaign),
        "differences" => differences(campaign),
        "case" => tables::case(campaign),
        "trials" => tables::trials(campaign),
        "about" => about(campaign),
        _ => String::new(),
    }
}

fn arms(campaign: &CampaignData) -> String {
    let mut out = tables::arms(campaign);
    out += "<div class=\"pair\"><div class=\"column\">";
    out += &figure(
        campaign,
        Figure::Latency,
        "How long fetches took",
        "Percentiles of each round, on one scale. A triangle: fetches were given up there, and \
         would have taken longer still.",
    );
    out += "</div><div class=\"column\">";
    out += &figure(
        campaign,
        Figure::Failures,
        "Fetches that failed",
        "Each round's share with its 95 % interval (Wilson), each round on a line of its own; \
         the bar: all rounds, with the wider of the intervals over rounds and over fetches.",
    );
    out += &figure(
        campaign,
        Figure::Throughput,
        "What the downloads got",
        "The rate of all downloads together: what a cure costs.",
    );
    out += &figure(
        campaign,
        Figure::Survival,
        "Not yet done",
        "Of all fetches under load of an arm, the share that still waits at an age.",
    );
    out + "</div></div>"
}

fn differences(campaign: &CampaignData) -> String {
    if campaign.pairs.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<section id=\"differences\" aria-labelledby=\"h-differences\"><h2 \
         id=\"h-differences\">The differences</h2>",
    );
    out += &figure(
        campaign,
        Figure::Differences,
        "Each arm against the first",
        "A line is where the change may be, at 95 %; filled: it counts. The line in the middle is \
         no change at all. A run is the unit, not a fetch.",
    );
    for pair in &campaign.pairs {
        out += &tables::pair(pair);
    }
    out + "</section>"
}

/// The words at the top, in their colours.
fn chips(campaign: &CampaignData) -> String {
    let chip = |(word, standing): &(String, Standing)| {
        format!("<span class=\"chip {}\">{}</span>", standing.class(), html(word))
    };
    let mut chips: String = campaign.chips.iter().map(chip).collect();
    if campaign.cut_short.is_some() {
        chips += "<span class=\"chip verdict-degraded\">not whole</span>";
    }
    chips
}

fn figure(campaign: &CampaignData, which: Figure, title: &str, told: &str) -> String {
    // Tall and dense: on a narrow screen it is moved, not shrunk.
    let drawn = inline_campaign(campaign, which)
        .map(|svg| format!("<div class=\"scroll\"><div class=\"drawn dense\">{svg}</div></div>"));
    table::figure(which, title, told, drawn)
}

fn about(campaign: &CampaignData) -> String {
    let trials = |many: usize| count(many as u64, "trial", "trials");
    let caveats = campaign.caveats.iter();
    let caveats = caveats.map(|(message, many)| format!("{}: {message}", trials(*many)));
    let mut out = list("Caveats of the trials", caveats);
    let _ = write!(
        out,
        "<h3>How to reproduce</h3><pre><code>{}</code></pre><p>{} of {} wanted; seed {}. Rounds \
         hold one trial of every arm, in an order drawn from the seed. Each trial is the command \
         that stands on its own page.</p>",
        html(&campaign.command),
        trials(campaign.done),
        campaign.planned,
        campaign.seed
    );
    out + &environment(&campaign.environment)
}
