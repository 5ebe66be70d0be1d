//! Words in the head, figures, and what to know.

use std::fmt::Write as _;

use crate::campaign::{CampaignData, Standing};
use crate::escape::html;
use crate::html::table::{self, environment, list};
use crate::svg::{Figure, inline_campaign};
use crate::words::count;

/// The words at the top, in their colours.
pub(super) fn chips(campaign: &CampaignData) -> String {
    let chip = |(word, standing): &(String, Standing)| {
        format!("<span class=\"chip {}\">{}</span>", standing.class(), html(word))
    };
    let mut chips: String = campaign.chips.iter().map(chip).collect();
    if campaign.cut_short.is_some() {
        chips += "<span class=\"chip verdict-degraded\">not whole</span>";
    }
    chips
}

pub(super) fn figure(campaign: &CampaignData, which: Figure, title: &str, told: &str) -> String {
    // Tall and dense: on a narrow screen it is moved, not shrunk.
    let drawn = inline_campaign(campaign, which)
        .map(|svg| format!("<div class=\"scroll\"><div class=\"drawn dense\">{svg}</div></div>"));
    table::figure(which, title, told, drawn)
}

pub(super) fn about(campaign: &CampaignData) -> String {
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
