//! The arms of a comparison, side by side.

use records::Verdict;
use serde::Serialize;

use crate::curve::SurvivalPoint;

/// One arm of a comparison. The first of [`crate::PageData::arms`] is what the others are held
/// against.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArmData {
    /// What it is called.
    pub name: String,
    /// Verdicts of its runs and how often each came.
    pub verdicts: Vec<(Verdict, u64)>,
    /// Its figures, the same ones in the same order in every arm.
    pub metrics: Vec<MetricData>,
    /// All its fetches under load, not yet done; may be empty.
    pub survival: Vec<SurvivalPoint>,
}

/// One figure of an arm over its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricData {
    /// What it is of, with its unit, as `p50 (ms)`.
    pub name: String,
    /// One value a run, in the order of rounds.
    pub runs: Vec<f64>,
    /// Their middle.
    pub middle: f64,
    /// The interval around the middle, if one can be told.
    pub interval: Option<(f64, f64)>,
    /// Difference from the first arm, with its interval; absent for the first arm itself.
    pub difference: Option<(f64, f64, f64)>,
    /// What may be concluded, in words; empty: nothing was concluded.
    pub conclusion: String,
}

/// The arms as a table, a row a figure, with the runs of every arm on one scale.
pub(crate) fn html(arms: &[ArmData]) -> String {
    use std::fmt::Write as _;

    use crate::escape::html;
    let mut out = String::from("<div class=\"scroll\"><table><thead><tr><td></td>");
    for arm in arms {
        let verdicts: Vec<String> =
            arm.verdicts.iter().map(|(verdict, times)| format!("{verdict} {times}")).collect();
        let _ = write!(
            out,
            "<th scope=\"col\">{}<br><small>{}</small></th>",
            html(&arm.name),
            html(&verdicts.join(", "))
        );
    }
    out.push_str("</tr></thead><tbody>");
    let rows = arms.first().map_or(0, |arm| arm.metrics.len());
    for row in 0..rows {
        let cells: Vec<Option<&MetricData>> = arms.iter().map(|arm| arm.metrics.get(row)).collect();
        let name = cells.iter().flatten().next().map_or("", |metric| metric.name.as_str());
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", html(name));
        let scale = Span::over(&cells);
        for cell in &cells {
            out.push_str(&cell.map_or_else(|| "<td>unknown</td>".to_owned(), |m| scale.cell(m)));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    out
}

/// What all arms' runs of one figure span.
struct Span {
    low: f64,
    high: f64,
}

impl Span {
    fn over(metrics: &[Option<&MetricData>]) -> Self {
        let ends = |metric: &MetricData| metric.interval.map(|(a, b)| [a, b]).unwrap_or_default();
        let values = metrics.iter().flatten();
        let values = values.flat_map(|m| m.runs.iter().copied().chain(ends(m)));
        let (mut low, mut high) = (0.0_f64, 0.0_f64);
        for value in values.filter(|value| value.is_finite()) {
            (low, high) = (low.min(value), high.max(value));
        }
        Self { low, high }
    }

    fn x(&self, value: f64) -> f64 {
        let wide = self.high - self.low;
        if wide > 0.0 { 6.0 + (value - self.low) / wide * 208.0 } else { 6.0 }
    }

    fn cell(&self, metric: &MetricData) -> String {
        use std::fmt::Write as _;

        use crate::escape::html;
        let mut out = format!("<td><b>{}</b>", number(metric.middle));
        if let Some((low, high)) = metric.interval {
            let _ = write!(out, " ({} to {})", number(low), number(high));
        }
        out.push_str(
            "<svg class=\"figure strip\" viewBox=\"0 0 220 22\" width=\"220\" \
         height=\"22\" aria-hidden=\"true\"><path d=\"M6 11h208\" class=\"grid\"/>",
        );
        if let Some((low, high)) = metric.interval {
            let (from, to) = (self.x(low), self.x(high));
            let _ = write!(out, "<path d=\"M{from:.1} 11H{to:.1}\" class=\"curve load\"/>");
        }
        for run in metric.runs.iter().filter(|run| run.is_finite()) {
            let _ = write!(
                out,
                "<circle cx=\"{:.1}\" cy=\"11\" r=\"3\" class=\"mark ok\"/>",
                self.x(*run)
            );
        }
        out.push_str("</svg>");
        if let Some((middle, low, high)) = metric.difference {
            let signed =
                |value: f64| format!("{}{}", if value > 0.0 { "+" } else { "" }, number(value));
            let _ = write!(
                out,
                "<br><small>difference {} ({} to {})</small>",
                signed(middle),
                signed(low),
                signed(high)
            );
        }
        if !metric.conclusion.is_empty() {
            let _ = write!(out, "<br><small>{}</small>", html(&metric.conclusion));
        }
        out + "</td>"
    }
}

/// Three digits or so.
fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        0.0 => "0".to_owned(),
        _ => format!("{value:.3}"),
    }
}
