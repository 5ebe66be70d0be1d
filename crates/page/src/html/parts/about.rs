//! Caveats, how to reproduce, environment.

use std::fmt::Write as _;

use records::{Micros, Verdict};

use crate::data::PageData;
use crate::escape::html;

pub(in crate::html) fn about(data: &PageData) -> String {
    let summary = &data.summary;
    let mut out = String::new();
    let mut list = |title: &str, items: &[String]| {
        if !items.is_empty() {
            let items: String =
                items.iter().map(|item| format!("<li>{}</li>", html(item))).collect();
            let _ = write!(out, "<h3>{}</h3><ul>{items}</ul>", html(title));
        }
    };
    let why = format!("Why the verdict is {}", summary.verdict);
    list(&why, &summary.verdict_reasons);
    list("What went wrong", &data.faults);
    let caveats: Vec<String> =
        summary.caveats.iter().map(|caveat| caveat.message.clone()).collect();
    list("Caveats", &caveats);
    if summary.verdict == Verdict::Inconclusive {
        out.push_str("<p>The figures above are what was recorded; they prove nothing.</p>");
    }
    let _ = write!(
        out,
        "<h3>How to reproduce</h3><pre><code>{}</code></pre><p>Started {} (UTC); fetches under \
         load for {}, a fetch given up after {}, steps recorded from {} on.</p>",
        html(&data.command),
        html(&data.started_at),
        summary.measured_us,
        data.cap(),
        Micros(data.hold_us)
    );
    if let Some(signal) = &summary.interrupted {
        let reached = data.phases.last().map_or("setup", |phase| phase.name);
        let _ = write!(out, "<p>{} cut the run short in its phase {reached}.</p>", html(signal));
    }
    out.push_str(
        "<details open><summary>Environment</summary><div class=\"scroll\"><table \
     class=\"environment\"><tbody>",
    );
    for (name, value) in &data.environment {
        let _ =
            write!(out, "<tr><th scope=\"row\">{}</th><td>{}</td></tr>", html(name), html(value));
    }
    out.push_str("</tbody></table></div></details>");
    out
}
