//! The share of fetches not yet done, by age: what a client that waits has still before it.

use analysis::Analysis;
use analysis::guard::compare::{curve, observations};
use records::{Micros, Phase, percent};
use stats::Curve;

use super::palette;
use super::plot::{Axes, Drawing, Scale, cut, time_decades};
use crate::campaign::{Arm, Campaign};
use crate::page::head;

/// From an age on, so much is not yet done.
#[derive(Clone, Copy)]
struct Point {
    at: Micros,
    remaining: f64,
}

/// Of a run: idle and under load.
pub(super) fn draw(analysis: &Analysis<'_>) -> Option<Drawing> {
    let Analysis { records, summary, .. } = analysis;
    let of = |phase| points(&Curve::new(&observations(&records.fetches, phase)));
    let (idle, load) = (&of(Phase::Idle), &of(Phase::Measure));
    let curves = [(idle, "idle", "idle"), (load, "load", "under load")];
    let points = curves.iter().flat_map(|(points, ..)| points.iter());
    let (mut drawing, axes) =
        frame(&head::title(summary), points, Some(summary.arm.fetch.cap), (640.0, 340.0))?;
    for (points, class, name) in curves {
        drawing.path(&stairs(&axes, points), &format!("class=\"curve {class}\""));
        // At half height the curves are furthest apart; one that never gets there is named at its
        // end, and two of them below each other.
        let (x, y) = match (points.iter().find(|point| point.remaining <= 0.5), points.last()) {
            (Some(middle), _) => (axes.x(middle.at.0 as f64), axes.y(0.55)),
            (None, Some(last)) => {
                let below = if class == "idle" { 54.0 } else { 30.0 };
                (axes.x(last.at.0 as f64), axes.y(last.remaining) + below)
            }
            (None, None) => continue,
        };
        let (x, anchor) = if x > axes.left + 260.0 { (x - 8.0, " end") } else { (x + 8.0, "") };
        let text = format!("{name}{}", never(points));
        drawing.text(x, y - 6.0, &format!("curve-label {class}{anchor}"), &text);
    }
    Some(drawing)
}

/// Of a campaign: a line an arm, with a legend below.
pub(super) fn of_arms(campaign: &Campaign) -> Option<Drawing> {
    /// Names below each other: so much for each.
    const NAME: f64 = 22.0;
    const COLUMNS: usize = 2;
    let arms = (0..)
        .zip(&campaign.arms)
        .map(|(place, arm)| (palette::download(place), arm, points(&curve(&arm.trials))));
    let arms: Vec<(_, &Arm, Vec<Point>)> = arms.filter(|(.., of)| !of.is_empty()).collect();
    let rows = arms.len().div_ceil(COLUMNS) as f64;
    let all = arms.iter().flat_map(|(.., points)| points);
    let (mut drawing, axes) =
        frame(&campaign.title(), all, campaign.cap(), (720.0, 346.0 + rows * NAME))?;
    for (place, (ink, arm, points)) in arms.iter().enumerate() {
        let dashes = if ink.hatched { "7 4" } else { "" };
        let stroke =
            format!("class=\"curve\" stroke=\"{}\" stroke-dasharray=\"{dashes}\"", ink.color);
        drawing.path(&stairs(&axes, points), &stroke);
        let x = axes.left + (place % COLUMNS) as f64 * 310.0;
        let y = axes.bottom() + 68.0 + (place / COLUMNS) as f64 * NAME;
        drawing.path(&[(x, y - 5.0), (x + 30.0, y - 5.0)], &stroke);
        let never = never(points);
        let name = cut(&arm.spec.name, 250.0 - never.len() as f64 * 7.4, 8.0);
        drawing.text(x + 38.0, y, "tick strong", &format!("{name}{never}"));
    }
    Some(drawing)
}

/// Points of a curve from its start to where it is known, as many as a figure needs; none of a curve of
/// no fetch.
fn points(curve: &Curve) -> Vec<Point> {
    /// Beyond, those near each other are left out.
    const MOST: usize = 400;
    let end = curve.known_until;
    if end == Micros(0) {
        return Vec::new();
    }
    let every = curve.steps.len().div_ceil(MOST).max(1);
    let mut points = vec![Point { at: Micros(0), remaining: 1.0 }];
    let steps = curve.steps.iter().step_by(every).chain(curve.steps.last());
    points.extend(steps.map(|step| Point { at: step.at, remaining: step.remaining }));
    let remaining = points.last().map_or(1.0, |last| last.remaining);
    points.push(Point { at: end, remaining });
    points
}

/// Age across, from below the first answer to beyond the cap, and the share up; `None`: nothing is
/// known.
fn frame<'a>(
    title: &str,
    points: impl Iterator<Item = &'a Point> + Clone,
    cap: Option<Micros>,
    (width, height): (f64, f64),
) -> Option<(Drawing, Axes)> {
    let known = points.clone().map(|point| point.at.0).max()?;
    let first = points.map(|point| point.at.0).filter(|us| *us > 0).min().unwrap_or(1_000);
    let high = known.max(cap.unwrap_or_default().0) as f64 * 1.5;
    // Where nothing was ever done there is still an axis.
    let low = 10_f64.powf((first as f64).min(high / 100.0).max(1.0).log10().floor());
    let axes = Axes {
        left: 74.0,
        top: 26.0,
        width: width - 100.0,
        height: 260.0,
        x: Scale::Log { low, high },
        y: Scale::Linear { low: 0.0, high: 1.0 },
    };
    let title = format!("share of fetches not yet done by age: {title}");
    let mut drawing = Drawing::new("survival", &title, width, height);
    let ticks = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| (share, percent(share)));
    axes.y_ticks(&mut drawing, &ticks);
    axes.x_ticks(&mut drawing, &time_decades(low, high));
    let below = axes.bottom() + 42.0;
    drawing.text(axes.left, below, "label", "age of the fetch; the line is the share not yet done");
    if let Some(cap) = cap {
        let x = axes.x(cap.0 as f64);
        drawing.line((x, axes.top), (x, axes.bottom()), "cap");
        let text = format!("cap {cap}");
        drawing.text(x - 6.0, axes.top - 8.0, "cap-label end", &text);
    }
    Some((drawing, axes))
}

fn stairs(axes: &Axes, points: &[Point]) -> Vec<(f64, f64)> {
    let before = std::iter::once(1.0).chain(points.iter().map(|point| point.remaining));
    let stair = |(point, before): (&Point, f64)| {
        let x = axes.x(point.at.0 as f64);
        [(x, axes.y(before)), (x, axes.y(point.remaining))]
    };
    points.iter().zip(before).flat_map(stair).collect()
}

/// `: 79 % never done`.
fn never(points: &[Point]) -> String {
    match points.last() {
        Some(last) if last.remaining > 0.0 => format!(": {} never done", percent(last.remaining)),
        _ => String::new(),
    }
}
