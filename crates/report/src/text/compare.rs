//! A comparison: the arms in one table, then each pair with its metrics.

use std::path::Path;

use records::{ArmRow, percent};
use stats::{Change, Finding, Judgement, LeftOut, MetricComparison, Scale};

use super::arms::{ASIDE, COMPARED};
use super::layout::{Style, Tint};
use super::sheet::Sheet;
use crate::table::Table;
use analysis::guard::figures::{Figure, Unit};
use analysis::guard::{Comparison, Gate, PairOf};

/// The whole of it, with a newline after each line.
pub(crate) fn comparison(
    comparison: &Comparison,
    rows: &[ArmRow],
    dir: &Path,
    style: Style,
) -> String {
    let mut sheet = Sheet::new(style);
    sheet.table(&super::arms(rows).without(&ASIDE).without(&COMPARED));
    comparison.pairs.iter().for_each(|of| pair(&mut sheet, of));
    sheet.section();
    sheet.whole("records", dir.display());
    sheet.list("answer", comparison.pairs.iter().map(answer));
    sheet.finish()
}

/// What came of a pair, in one sentence: `fionread: failures 50 % to 0 %, downloads 3 % slower`.
pub(crate) fn answer(PairOf { a, b, judgement, .. }: &PairOf) -> String {
    if judgement.change == Change::Inconclusive {
        return format!("{b} against {a} proves nothing: {}", reasons(judgement));
    }
    let known = |name| {
        let mut metrics = judgement.comparisons.iter();
        let metric = metrics.find(|metric| metric.metric.name == name && metric.rounds > 0)?;
        Some((metric, metric.a?, metric.b?))
    };
    let mut said = Vec::new();
    if let Some((metric, a, b)) = known("failed_share") {
        let (a, b) = (percent(a), percent(b));
        let are_alike = a == b;
        said.push(match b.as_str() {
            "0 %" if are_alike => "no failures".to_owned(),
            _ => format!("failures {a} to {b}{}", doubt(metric)),
        });
        // Where as many failed, the times tell the arms apart.
        said.extend(known("p50").filter(|_| are_alike).map(|(metric, ..)| {
            let [_, a, b, ..] = cells(metric);
            format!("median {a} to {b}{}", doubt(metric))
        }));
    }
    said.extend(known("slow_bytes_per_sec").filter(|(_, a, _)| *a > 0.0).map(|(metric, a, b)| {
        match percent((b / a - 1.0).abs()) {
            change if change.starts_with(['<', '0']) => "downloads as fast".to_owned(),
            change => {
                let which = if b < a { "slower" } else { "faster" };
                format!("downloads {change} {which}{}", doubt(metric))
            }
        }
    }));
    format!("{b}: {}", said.join(", "))
}

/// Why a change does not count; nothing of one that does.
fn doubt(metric: &MetricComparison) -> String {
    match metric.finding {
        Finding::Higher | Finding::Lower => String::new(),
        Finding::Excluded => " (too small to count)".to_owned(),
        _ => format!(" ({})", said(metric)),
    }
}

/// The same as Markdown.
pub(crate) fn comparison_markdown(comparison: &Comparison, rows: &[ArmRow]) -> String {
    let mut text = super::arms(rows).without(&COMPARED).markdown();
    for PairOf { a, b, judgement, .. } in &comparison.pairs {
        text += &format!("\n**{b} against {a}: {}**. ", judgement.change);
        text += &format!("{}.\n\n", reasons(judgement));
        text += &metrics(judgement, ["A", "B"]).markdown();
    }
    text + "\n" + &comparison.pairs.iter().map(|pair| answer(pair) + ".\n").collect::<String>()
}

fn pair(sheet: &mut Sheet, PairOf { a, b, judgement, .. }: &PairOf) {
    let tint = match judgement.change {
        Change::Improved => Tint::Good,
        Change::Regressed => Tint::Bad,
        Change::NoChange => Tint::Label,
        Change::Inconclusive => Tint::Warn,
    };
    let change = sheet.paint(tint, judgement.change.name());
    sheet.section();
    sheet.line(&format!("{b} against {a}: {change}"));
    sheet.prose(2, &reasons(judgement));
    judgement.left_out.iter().map(left_out).for_each(|said| sheet.prose(2, &said));
    sheet.table(&metrics(judgement, ["A", "B"]));
}

/// Every metric of a judgement in a table whose arms have these names.
pub(crate) fn metrics(judgement: &Judgement, [a, b]: [&str; 2]) -> Table {
    let heads = ["metric", a, b, "change", "95 % interval", "up/down/still", "p", "sees", ""];
    let mut table = Table::new(heads);
    for metric in &judgement.comparisons {
        table.row(cells(metric));
    }
    table
}

/// What a gate says and the process ends with.
pub(super) fn gate(sheet: &mut Sheet, label: &str, gate: Gate, word: &str, exit_code: u8) {
    let tint = match gate {
        Gate::Passed => Tint::Good,
        Gate::Breached => Tint::Bad,
        Gate::Inconclusive => Tint::Warn,
    };
    sheet.whole(label, format!("{} (exit {exit_code})", sheet.paint(tint, word)));
}

/// What a gate on the comparison says, and of which pairs why.
pub(crate) fn comparison_gate(comparison: &Comparison, exit_code: u8, style: Style) -> String {
    let (found, mut sheet) = (comparison.gate(), Sheet::new(style));
    gate(&mut sheet, "gate", found, found.name(), exit_code);
    for pair in &comparison.pairs {
        let said = |doubt| format!("{} against {}: {doubt}", pair.b, pair.a);
        sheet.list("", pair.doubts().into_iter().map(said));
    }
    sheet.finish()
}

/// Why a pair was judged so, the weightiest first.
pub(crate) fn reasons(judgement: &Judgement) -> String {
    let reasons: Vec<String> = judgement.reasons.iter().map(ToString::to_string).collect();
    reasons.join("; ")
}

/// A round that is left out, in words.
pub(crate) fn left_out(of: &LeftOut) -> String {
    format!("round {} is left out: {}", of.round, of.why)
}

/// The smallest change that the rounds could have shown of a metric: no smaller one is excluded by
/// what is not said to have changed.
fn sees(metric: &MetricComparison) -> String {
    match (metric.smallest_shown(), metric.metric.scale) {
        _ if metric.rounds == 0 || metric.finding == Finding::BeyondCap => "-".to_owned(),
        (None, _) => "nothing".to_owned(),
        (Some(factor), Scale::Ratio) => format!("x{}", digits(factor)),
        (Some(by), Scale::Difference) => format!("{:.3}", by.min(1.0)),
    }
}

/// A metric in words: name, A, B, change, interval, rounds up/down/still, p, what it could have shown, and
/// what may be concluded.
fn cells(metric: &MetricComparison) -> [String; 9] {
    let none = || "-".to_owned();
    let unit = Figure::find(metric.metric.name).map_or(Unit::Count, |figure| figure.unit);
    let value = |value: Option<f64>| value.map_or_else(none, |value| unit.say(value));
    let scale = metric.metric.scale;
    let change = |change: f64| match scale {
        Scale::Ratio => format!("x{}", digits(change)),
        Scale::Difference => format!("{change:+.3}"),
    };
    let interval = metric.interval.map_or_else(
        || "anything".to_owned(),
        |interval| format!("{} to {}", change(interval.low), change(interval.high)),
    );
    [
        metric.metric.name.to_owned(),
        value(metric.a),
        value(metric.b),
        metric.effect.map_or_else(none, change),
        interval,
        format!("{}/{}/{}", metric.votes.up, metric.votes.down, metric.votes.still),
        probability(metric.p_family.or(metric.p)),
        sees(metric),
        said(metric).to_owned(),
    ]
}

fn said(metric: &MetricComparison) -> &'static str {
    match metric.finding {
        Finding::Higher | Finding::Lower => metric.change().name(),
        Finding::Excluded => "same",
        Finding::BelowFloor => "too small to count",
        Finding::WithinChance => "chance",
        Finding::RoundsDisagree => "rounds disagree",
        Finding::TooWide => "varies too much",
        Finding::ControlMoved => "so did the host",
        Finding::BeyondCap => "beyond the cap",
        Finding::TooFewRounds => "too few rounds",
    }
}

/// A factor in at most five letters: what lies beyond says that the rounds tell nothing of it.
fn digits(factor: f64) -> String {
    if factor >= 9_999.5 {
        ">9999".to_owned()
    } else if factor < 0.005 {
        "<0.01".to_owned()
    } else if factor >= 100.0 {
        format!("{factor:.0}")
    } else if factor >= 10.0 {
        format!("{factor:.1}")
    } else {
        format!("{factor:.2}")
    }
}

fn probability(p: Option<f64>) -> String {
    match p {
        None => "-".to_owned(),
        Some(p) if p < 0.001 => "<0.001".to_owned(),
        Some(p) => format!("{p:.3}"),
    }
}

#[cfg(test)]
mod tests;
