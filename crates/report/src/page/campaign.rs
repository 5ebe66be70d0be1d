//! A campaign as it is told: in a terminal, as a document, and as a page, which has a table, a figure, what
//! was compared, and links to its trials.

use std::collections::BTreeMap;

use analysis::guard::rounds::Ran;
use analysis::guard::{Comparison, Gate, PairOf};
use records::{Caveat, CaveatCode, count, shell_line};

use super::parts::list;
use super::{THEME, fill, framed};
use crate::campaign::{Arm, Campaign};
use crate::escape::{self, html};
use crate::svg::inline_campaign;
use crate::text::{self, Sheet, Style};

impl Campaign {
    /// As people read it in a terminal.
    pub fn text(&self, style: Style) -> String {
        let (rows, dir) = (self.rows(), &self.dir);
        match (&self.case, &self.comparison) {
            (Some(case), _) => text::case(case, &rows, dir, style),
            (None, Some(comparison)) => text::comparison(comparison, &rows, dir, style),
            (None, None) => {
                let mut sheet = Sheet::new(style);
                sheet.table(&text::arms(&rows).without(&text::ASIDE));
                sheet.section();
                sheet.whole("records", dir.display());
                sheet.finish()
            }
        }
    }

    /// The comparison as a document; of others, the table.
    pub fn json(&self) -> String {
        match &self.comparison {
            Some(comparison) => text::json(comparison),
            None => text::json(&self.rows()),
        }
    }

    /// The comparison as Markdown; of others, the table.
    pub fn markdown(&self) -> String {
        match &self.comparison {
            Some(comparison) => text::comparison_markdown(comparison, &self.rows()),
            None => text::arms_markdown(&self.rows()),
        }
    }

    /// What the comparison says as a gate; absent: there is none.
    pub fn gate(&self) -> Option<Gate> {
        self.comparison.as_ref().map(Comparison::gate)
    }

    /// The same for people, with the exit code that follows from it.
    pub fn gate_text(&self, exit_code: u8, style: Style) -> String {
        let said = |comparison| text::comparison_gate(comparison, exit_code, style);
        self.comparison.as_ref().map_or_else(String::new, said)
    }

    /// Why it is not whole, if it is not.
    fn cut_short(&self) -> Option<String> {
        let (done, planned) = (self.done(), self.planned);
        (done < planned).then(|| {
            format!(
                "{done} of {planned} trials are done: this campaign was cut short, or is still \
                 under way. What is here is what there was by then."
            )
        })
    }

    /// Caveats of the trials, each with how many have it, the most frequent first.
    fn caveats(&self) -> Vec<String> {
        // By code: the words hold figures, which differ between trials.
        let mut by_code: BTreeMap<CaveatCode, (&str, u64)> = BTreeMap::new();
        for Caveat { code, message } in self.trials().flat_map(|trial| &trial.summary.caveats) {
            by_code.entry(*code).or_insert((message, 0)).1 += 1;
        }
        let mut caveats: Vec<(&str, u64)> = by_code.into_values().collect();
        caveats.sort_by_key(|(_, trials)| std::cmp::Reverse(*trials));
        let said = |(message, trials)| format!("{}: {message}", count(trials, "trial", "trials"));
        caveats.into_iter().map(said).collect()
    }

    /// What came of it, in a sentence.
    fn sentence(&self) -> String {
        if self.done() == 0 {
            return "No trial is done: there is nothing to show yet.".to_owned();
        }
        let answers = self.pairs().iter().map(|pair| text::answer(pair) + ". ");
        let answers: String = answers.collect();
        if answers.is_empty() { self.title() } else { answers.trim_end().to_owned() }
    }
}

const TEMPLATE: &str = include_str!("../../assets/campaign.html");

/// The campaign as one HTML file: style and script inside, nothing to load. Links lead to the
/// pages of its trials, as paths relative to its own.
pub fn campaign_html(campaign: &Campaign) -> String {
    let body = fill(TEMPLATE, |name| match name {
        "subtitle" => html(&campaign.title()),
        "sentence" => html(&campaign.sentence()),
        "cut" => campaign
            .cut_short()
            .map_or_else(String::new, |why| format!("<p class=\"cut\">{}</p>", html(&why))),
        "command" => html(&shell_line(&campaign.command)),
        "arms" => text::arms(&campaign.rows()).without(&text::ASIDE).html(""),
        "figure" => latency(campaign),
        "differences" => campaign.pairs().iter().map(difference).collect(),
        "trials" => campaign.arms.iter().map(trials).collect(),
        "caveats" => list("Caveats of the trials", campaign.caveats()),
        _ => String::new(),
    });
    framed(&campaign.title(), &body, THEME)
}

fn latency(campaign: &Campaign) -> String {
    let told = "A point is a round's percentile, a bar the median of the rounds, which the table has. \
                A triangle: fetches were given up there, and would have taken longer still.";
    // Tall and dense: on a narrow screen it is moved, not shrunk.
    let figure = inline_campaign(campaign).map(|svg| {
        format!(
            "<figure id=\"latency\"><figcaption><p>{told}</p></figcaption><div class=\"scroll\"><div \
             class=\"drawn dense\">{svg}</div></div></figure>"
        )
    });
    figure.unwrap_or_default()
}

/// A pair: the word, why, and every metric.
fn difference(PairOf { a, b, judgement, .. }: &PairOf) -> String {
    let (title, why) = (format!("{b} against {a}: {}", judgement.change), text::reasons(judgement));
    format!(
        "<section class=\"difference\"><h2>{}</h2><p>{}.</p>{}{}</section>",
        html(&title),
        html(&why),
        list("", judgement.left_out.iter().map(text::left_out)),
        text::metrics(judgement, [a, b]).html("")
    )
}

/// An arm's trials, each with a link to its own page.
fn trials(arm: &Arm) -> String {
    let trial = |Ran { dir, round, summary, .. }: &Ran| {
        let page = dir.join(records::run_dir::REPORT).display().to_string();
        format!(
            "<li>round {}: <a href=\"{}\">{}</a></li>",
            round + 1,
            html(&escape::path(&page)),
            html(&text::headline(summary))
        )
    };
    let trials: String = arm.trials.iter().map(trial).collect();
    let (name, options) = (html(&arm.spec.name), html(&shell_line(&arm.spec.args)));
    format!("<h3>{name} <code>{options}</code></h3><ul>{trials}</ul>")
}
