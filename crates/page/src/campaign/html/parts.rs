//! Words in the head, figures, and what to know.

use std::fmt::Write as _;

use crate::campaign::{CampaignData, Standing};
use crate::escape::html;
use crate::svg::{Figure, inline_campaign};

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
    let drawn = inline_campaign(campaign, which).map_or_else(
        || "<p class=\"nothing\">These trials have nothing to show here.</p>".to_owned(),
        // Tall and dense: on a narrow screen it is moved, not shrunk.
        |svg| format!("<div class=\"scroll\"><div class=\"drawn dense\">{svg}</div></div>"),
    );
    format!(
        "<figure id=\"figure-{which}\"><figcaption><h3>{}</h3><p>{}</p></figcaption>{drawn}\
         </figure>",
        html(title),
        html(told)
    )
}

pub(super) fn about(campaign: &CampaignData) -> String {
    let mut out = String::new();
    if !campaign.caveats.is_empty() {
        out.push_str("<h3>Caveats of the trials</h3><ul>");
        for (message, trials) in &campaign.caveats {
            let _ = write!(out, "<li>{}: {}</li>", count(*trials, "trial"), html(message));
        }
        out.push_str("</ul>");
    }
    let _ = write!(
        out,
        "<h3>How to reproduce</h3><pre><code>{}</code></pre><p>{} of {} wanted; seed {}. Rounds \
         hold one trial of every arm, in an order drawn from the seed. Each trial is the command \
         that stands on its own page.</p>",
        html(&campaign.command),
        count(campaign.done, "trial"),
        campaign.planned,
        campaign.seed
    );
    if campaign.environment.is_empty() {
        return out;
    }
    out.push_str(
        "<details open><summary>Environment</summary><div class=\"scroll\"><table \
         class=\"environment\"><tbody>",
    );
    for (name, value) in &campaign.environment {
        let (name, value) = (html(name), html(value));
        let _ = write!(out, "<tr><th scope=\"row\">{name}</th><td>{value}</td></tr>");
    }
    out.push_str("</tbody></table></div></details>");
    out
}

/// `1 trial`, `3 trials`.
fn count(number: usize, of: &str) -> String {
    if number == 1 { format!("1 {of}") } else { format!("{number} {of}s") }
}
