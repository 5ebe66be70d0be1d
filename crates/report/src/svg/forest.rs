//! Every arm against the first: a forest plot, as meta-analyses have it.
//!
//! Shares are set against each other by difference, times and rates by ratio; "no change" stands in
//! the middle of both scales, so one line down the figure is what every change is held against.

use analysis::guard::PairOf;
use stats::{MetricComparison, Scale as Kind};

use super::plot::{Axes, Drawing, Rect, Scale, cut};
use crate::campaign::{Campaign, change, counts, effect, metric_name};
use crate::text::metric_cells;

const WIDTH: f64 = 1080.0;
const LEFT: f64 = 150.0;
const PLOT: f64 = 400.0;
const ROW: f64 = 28.0;
const HEAD: f64 = 34.0;
/// Room for the labels of a scale.
const SCALE: f64 = 40.0;

pub(super) fn draw(campaign: &Campaign) -> Option<Drawing> {
    let pairs = campaign.pairs();
    if metrics(pairs).all(|metric| effect(metric).is_none()) {
        return None;
    }
    let factor = widest(pairs, Kind::Ratio).clamp(2.0, 1e6);
    let points = widest(pairs, Kind::Difference).clamp(0.1, 1.0);
    let rows = metrics(pairs).count();
    let height = pairs.len() as f64 * (HEAD + 2.0 * SCALE) + rows as f64 * ROW;
    let title = format!("arms against the first: {}", campaign.title());
    let mut drawing = Drawing::new("differences", &title, WIDTH, height + 8.0);
    let mut top = 4.0;
    for pair in pairs {
        let head = format!("{} against {}: {}", pair.b, pair.a, pair.judgement.change);
        drawing.text(8.0, top + 20.0, "label", &cut(&head, WIDTH - 20.0, 8.0));
        top += HEAD;
        for kind in [Kind::Difference, Kind::Ratio] {
            let of_kind = |metric: &&MetricComparison| metric.metric.scale == kind;
            let metrics: Vec<&MetricComparison> =
                pair.judgement.comparisons.iter().filter(of_kind).collect();
            if metrics.is_empty() {
                continue;
            }
            let (x, ticks) = match kind {
                Kind::Difference => {
                    (Scale::Linear { low: -points, high: points }, share_ticks(points))
                }
                Kind::Ratio => {
                    (Scale::Log { low: 1.0 / factor, high: factor }, ratio_ticks(factor))
                }
            };
            let axes = Axes {
                left: LEFT,
                top,
                width: PLOT,
                height: metrics.len() as f64 * ROW,
                x,
                y: Scale::Linear { low: 0.0, high: 1.0 },
            };
            block(&mut drawing, &axes, &metrics, &ticks, kind);
            top = axes.bottom() + SCALE;
        }
    }
    Some(drawing)
}

fn metrics(pairs: &[PairOf]) -> impl Iterator<Item = &MetricComparison> {
    pairs.iter().flat_map(|pair| &pair.judgement.comparisons)
}

/// How far from no change anything of this kind reaches: a factor, or a difference.
fn widest(pairs: &[PairOf], kind: Kind) -> f64 {
    let of_kind = metrics(pairs).filter(|metric| metric.metric.scale == kind);
    let ends = of_kind.flat_map(|metric| {
        let reach = metric.interval.map(|reach| [reach.low, reach.high]);
        effect(metric).into_iter().chain(reach.into_iter().flatten())
    });
    let far = |end: f64| match kind {
        Kind::Difference => end.abs() * 1.1,
        // The scale is cut where nobody reads any further.
        Kind::Ratio if end > 0.0 => end.max(1.0 / end) * 1.3,
        Kind::Ratio => 1.0,
    };
    ends.map(far).fold(0.0, f64::max)
}

fn share_ticks(points: f64) -> Vec<(f64, String)> {
    let step = if points > 0.6 {
        0.5
    } else if points > 0.25 {
        0.2
    } else {
        0.05
    };
    let label = |times: i32| {
        let at = f64::from(times) * step;
        (at, if times == 0 { "same".to_owned() } else { format!("{:+.0} %", at * 100.0) })
    };
    (-4..=4).map(label).filter(|(at, _)| at.abs() <= points).collect()
}

fn ratio_ticks(factor: f64) -> Vec<(f64, String)> {
    let steps: &[f64] = if factor > 40.0 {
        &[10.0, 100.0, 1e3, 1e4, 1e5]
    } else if factor > 6.0 {
        &[2.0, 5.0, 10.0, 20.0]
    } else {
        &[1.2, 1.5, 2.0, 3.0, 5.0]
    };
    let mut ticks = vec![(1.0, "same".to_owned())];
    for step in steps.iter().filter(|step| **step <= factor) {
        ticks.push((1.0 / step, format!("/ {step}")));
        ticks.push((*step, format!("x {step}")));
    }
    ticks
}

fn block(
    drawing: &mut Drawing,
    axes: &Axes,
    metrics: &[&MetricComparison],
    ticks: &[(f64, String)],
    kind: Kind,
) {
    for (value, _) in ticks {
        let x = axes.x(*value);
        drawing.line((x, axes.top), (x, axes.bottom()), "grid");
    }
    let none = match kind {
        Kind::Difference => 0.0,
        Kind::Ratio => 1.0,
    };
    let x = axes.x(none);
    drawing.line((x, axes.top - 4.0), (x, axes.bottom()), "none");
    axes.x_ticks(drawing, ticks);
    for (place, metric) in metrics.iter().enumerate() {
        row(drawing, axes, metric, axes.top + (place as f64 + 0.5) * ROW);
    }
}

fn row(drawing: &mut Drawing, axes: &Axes, metric: &MetricComparison, y: f64) {
    drawing.text(8.0, y + 5.0, "tick strong", &metric_name(metric));
    let (class, change) = (counts(metric), change(metric));
    let [_, a, b, .., said] = metric_cells(metric);
    if let Some(reach) = metric.interval {
        let ends = ((axes.x(reach.low), y), (axes.x(reach.high), y));
        drawing.line(ends.0, ends.1, &format!("forest {class}"));
        for (x, y) in [ends.0, ends.1] {
            drawing.line((x, y - 5.0), (x, y + 5.0), &format!("forest {class}"));
        }
    }
    if let Some(effect) = effect(metric) {
        let at = Rect { x: axes.x(effect) - 6.0, y: y - 6.0, width: 12.0, height: 12.0 };
        drawing.rect(at, &format!("class=\"effect {class}\""), &change);
    }
    let x = axes.right() + 26.0;
    let values = format!("{a} \u{2192} {b}");
    drawing.text(x, y + 5.0, "tick", &values);
    drawing.text(x + 170.0, y + 5.0, "tick", &change);
    drawing.text(x + 356.0, y + 5.0, &format!("tick strong {class}"), &said);
}
