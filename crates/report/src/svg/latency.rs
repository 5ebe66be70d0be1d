//! Latency by percentile on an axis that gives every nine of the tail the same room.

use analysis::Analysis;
use records::{Fetch, Micros, Outcome, Phase};

use super::plot::{Axes, Drawing, Rect, Scale, time_decades};
use crate::page::title;

/// So many points are enough; beyond, those near each other are left out.
const POINTS: usize = 400;

/// A latency, and up to which share of fetches it holds.
#[derive(Clone, Copy)]
struct Point {
    share: f64,
    us: u64,
    /// Whether this one did not end `ok`: its time is no latency but when it was given up.
    failed: bool,
}

/// Latencies by rank, ascending.
fn ranked(fetches: &[Fetch], phase: Phase) -> Vec<Point> {
    let of_phase = fetches.iter().filter(|fetch| fetch.phase == phase);
    let mut all: Vec<(u64, bool)> =
        of_phase.map(|fetch| (fetch.total_us.0, fetch.outcome != Outcome::Ok)).collect();
    all.sort_unstable();
    let count = all.len();
    let mut points = Vec::new();
    let mut rank = 0;
    while let Some(&(us, failed)) = all.get(rank) {
        points.push(Point { share: (rank + 1) as f64 / count as f64, us, failed });
        // Near the tail every rank is kept; before it, so many as can be told apart.
        rank += ((count - rank) / (POINTS / 4)).max(1);
    }
    points
}

pub(super) fn draw(analysis: &Analysis<'_>) -> Option<Drawing> {
    let Analysis { records, summary, .. } = analysis;
    let cap = records.manifest.arm.fetch.cap;
    let (idle, load) = (&summary.idle, &summary.measure);
    let phases = [(Phase::Idle, idle, "idle"), (Phase::Measure, load, "load")];
    let curves = phases.map(|(phase, of, class)| (ranked(&records.fetches, phase), of, class));
    let fetches = idle.attempts.max(load.attempts);
    let all = || curves.iter().flat_map(|(points, ..)| points).map(|point| point.us);
    let low = all().min()?.max(1) as f64;
    let high = all().max()?.max(cap.0) as f64;
    let low = 10_f64.powf((low * 0.9).log10().floor());
    let nines = (fetches as f64).log10().max(1.0) + 0.15;
    let axes = Axes {
        left: 74.0,
        top: 26.0,
        width: 540.0,
        height: 260.0,
        x: Scale::Linear { low: 0.0, high: nines },
        y: Scale::Log { low, high: high * 1.6 },
    };
    let name = format!("latency by percentile: {}", title(summary));
    let mut drawing = Drawing::new("latency", &name, 640.0, 340.0);
    axes.y_ticks(&mut drawing, &time_decades(low, high * 1.6));
    let ticks = [0.0, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999];
    let shown = ticks.into_iter().filter(|share| tail(*share) <= nines);
    let label = |share: f64| {
        let percent = format!("{:.2}", share * 100.0);
        let percent = percent.trim_end_matches('0').trim_end_matches('.').to_owned();
        (tail(share), if share == 0.0 { "fastest".to_owned() } else { format!("p{percent}") })
    };
    axes.x_ticks(&mut drawing, &shown.map(label).collect::<Vec<_>>());
    drawing.text(
        axes.left,
        axes.bottom() + 42.0,
        "label",
        "share of fetches that took at most so long",
    );
    let y = axes.y(cap.0 as f64);
    drawing.line((axes.left, y), (axes.right(), y), "cap");
    drawing.text(axes.right(), y - 8.0, "cap-label end", &format!("cap {cap}: given up"));
    for (points, of, class) in curves {
        line(&mut drawing, &axes, &points, (class, Micros(of.latency_us.p50)), nines);
    }
    Some(drawing)
}

/// A share as so many nines.
fn tail(share: f64) -> f64 {
    -(1.0 - share).max(1e-9).log10()
}

/// Rank by rank, as stairs: solid what was served, dashed what was given up or failed.
fn line(
    drawing: &mut Drawing,
    axes: &Axes,
    points: &[Point],
    (class, p50): (&str, Micros),
    nines: f64,
) {
    let mut before = 0.0;
    let mut parts: Vec<(bool, Vec<(f64, f64)>)> = Vec::new();
    for &Point { share, us, failed } in points {
        let y = axes.y(us as f64);
        let (from, to) = (axes.x(tail(before)), axes.x(tail(share).min(nines)));
        match parts.last_mut() {
            Some((same, points)) if *same == failed => points.extend([(from, y), (to, y)]),
            last => {
                let joint = last.and_then(|(_, points)| points.last().copied());
                let points = joint.into_iter().chain([(from, y), (to, y)]).collect();
                parts.push((failed, points));
            }
        }
        before = share;
    }
    let end = parts.last().and_then(|(_, points)| points.last().copied());
    for (failed, points) in &parts {
        let kind = if *failed { " given-up" } else { "" };
        drawing.path(points, &format!("class=\"curve {class}{kind}\""));
    }
    let Some((x, y)) = end else { return };
    let (name, dy) = if class == "idle" { ("idle", 20.0) } else { ("under load", -8.0) };
    let given_up = parts.last().is_some_and(|(failed, _)| *failed);
    let dy = if given_up { 22.0 } else { dy };
    let text = format!("{name}: p50 {p50}");
    drawing.text(x - 2.0, y + dy, &format!("curve-label end {class}"), &text);
    let dot = Rect { x: x - 4.0, y: y - 4.0, width: 8.0, height: 8.0 };
    drawing.rect(dot, &format!("class=\"dot {class}\""), "");
}
