//! The page of a campaign: its template, and the parts that are filled in.

mod parts;
mod tables;

use super::CampaignData;
use crate::escape;
use crate::html::{THEME, fill, framed, parts::figures};
use crate::svg::Figure;

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
        "subtitle" => escape::html(&campaign.title),
        "chips" => parts::chips(campaign),
        "sentence" => escape::html(&campaign.sentence),
        "cut" => campaign
            .cut_short
            .as_ref()
            .map_or_else(String::new, |why| format!("<p class=\"cut\">{}</p>", escape::html(why))),
        "figures" => figures(&campaign.figures),
        "command" => escape::html(&campaign.command),
        "arms" => arms(campaign),
        "differences" => differences(campaign),
        "case" => tables::case(campaign),
        "trials" => tables::trials(campaign),
        "about" => parts::about(campaign),
        _ => String::new(),
    }
}

fn arms(campaign: &CampaignData) -> String {
    let mut out = tables::arms(campaign);
    out += "<div class=\"pair\"><div class=\"column\">";
    out += &parts::figure(
        campaign,
        Figure::Latency,
        "How long fetches took",
        "Percentiles of each round, on one scale. A triangle: fetches were given up there, and \
         would have taken longer still.",
    );
    out += "</div><div class=\"column\">";
    out += &parts::figure(
        campaign,
        Figure::Failures,
        "Fetches that failed",
        "Each round's share with its 95 % interval (Wilson), each round on a line of its own; \
         the bar: all rounds, with the wider of the intervals over rounds and over fetches.",
    );
    out += &parts::figure(
        campaign,
        Figure::Throughput,
        "What the downloads got",
        "The rate of all downloads together: what a cure costs.",
    );
    out += &parts::figure(
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
    out += &parts::figure(
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
