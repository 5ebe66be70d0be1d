//! Caveats, how to reproduce, environment.

use std::fmt::Write as _;

use records::Verdict;

use crate::data::PageData;
use crate::escape::html;
use crate::html::table::{environment, list};

pub(in crate::html) fn about(data: &PageData) -> String {
    let summary = &data.summary;
    let mut out =
        list(&format!("Why the verdict is {}", summary.verdict), &summary.verdict_reasons);
    out += &list("What went wrong", &data.faults);
    out += &list("Caveats", summary.caveats.iter().map(|caveat| &caveat.message));
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
        data.cap_us,
        data.hold_us
    );
    if let Some(signal) = &summary.interrupted {
        let reached = data.phases.last().map_or("setup", |(phase, _)| phase.name());
        let _ = write!(out, "<p>{} cut the run short in its phase {reached}.</p>", html(signal));
    }
    out + &environment(&data.environment)
}
