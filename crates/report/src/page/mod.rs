//! The page of a run: a template, its style and script, the parts that are text, and the data.

mod campaign;
mod parts;

use analysis::Analysis;
use records::shell_line;

pub use self::campaign::campaign_html;
use crate::data::{self, PageData};
use crate::words::title;
use crate::{escape, svg};

/// What every page stands in.
const FRAME: &str = include_str!("../../assets/frame.html");
const TEMPLATE: &str = include_str!("../../assets/page.html");
const STYLE: &str = include_str!("../../assets/page.css");
/// Light and dark, on every page.
pub(crate) const THEME: &str = include_str!("../../assets/js/theme.js");
/// In this order; they share one scope.
const SCRIPTS: [&str; 6] = [
    include_str!("../../assets/js/run.js"),
    THEME,
    include_str!("../../assets/js/view.js"),
    include_str!("../../assets/js/told.js"),
    include_str!("../../assets/js/replay.js"),
    include_str!("../../assets/js/controls.js"),
];

/// The run as one HTML file: style, script and data inside, nothing to load.
pub fn html(analysis: &Analysis<'_>) -> String {
    let data = PageData::of(analysis);
    let summary = &analysis.summary;
    let title = format!("{}: {}", summary.verdict, title(summary));
    let body = fill(TEMPLATE, |name| part(name, &data));
    framed(&title, &body, &SCRIPTS.join("\n"))
}

/// A whole page: its title, what is seen, its data as JSON, and its script.
pub(crate) fn framed(title: &str, body: &str, script: &str) -> String {
    fill(FRAME, |name| match name {
        "title" => escape::html(title),
        "style" => format!("{STYLE}\n{}", svg::RULES),
        "body" => body.to_owned(),
        "script" => script.to_owned(),
        _ => String::new(),
    })
}

/// A template with its `{{parts}}` filled in. Foreign text is never looked through for names of
/// parts: the template is cut once.
pub(crate) fn fill(template: &str, part: impl Fn(&str) -> String) -> String {
    let mut page = String::new();
    for (place, piece) in template.split("{{").enumerate() {
        let Some((name, rest)) = piece.split_once("}}").filter(|_| place > 0) else {
            page.push_str(piece);
            continue;
        };
        page.push_str(&part(name));
        page.push_str(rest);
    }
    page
}

fn part(name: &str, data: &PageData<'_>) -> String {
    let summary = &data.analysis.summary;
    match name {
        "subtitle" => escape::html(&title(summary)),
        "verdict" => summary.verdict.name().to_owned(),
        "brief" => parts::brief(summary),
        "command" => escape::html(&shell_line(&data.analysis.records.manifest.command)),
        "unseen" => parts::unseen(data),
        "legend" => parts::legend(data),
        "holders" => parts::holders(data),
        "latency" => parts::latency(data),
        "why" => parts::why(data),
        "about" => parts::about(data),
        "stage" => svg::stage(data),
        "data" => escape::script(&data::script(data).to_string()),
        _ => String::new(),
    }
}
