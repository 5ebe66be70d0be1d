//! Latency by percentile on an axis that gives every nine of the tail the same room.

use records::Micros;

use super::plot::{Axes, Drawing, Rect, Scale, time_decades};
use crate::curve::{LatencyCurve, LatencyPoint};
use crate::data::PageData;

pub(super) fn draw(data: &PageData) -> Option<Drawing> {
    let [idle, load] = &data.latency;
    let curves = [(idle, "idle"), (load, "load")];
    let fetches = curves.iter().map(|(curve, _)| curve.fetches).max().filter(|most| *most > 0)?;
    let all = || curves.iter().flat_map(|(curve, _)| &curve.points);
    let low = all().map(|point| point.us).min().unwrap_or(1).max(1) as f64;
    let high = all().map(|point| point.us).max().unwrap_or(1).max(data.cap_us.0) as f64;
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
    let title = format!("latency by percentile: {}", data.title);
    let mut drawing = Drawing::new("latency", &title, 640.0, 340.0);
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
    cap(&mut drawing, &axes, data);
    for (curve, class) in curves {
        line(&mut drawing, &axes, curve, class, nines);
    }
    Some(drawing)
}

/// A share as so many nines.
fn tail(share: f64) -> f64 {
    -(1.0 - share).max(1e-9).log10()
}

fn cap(drawing: &mut Drawing, axes: &Axes, data: &PageData) {
    let y = axes.y(data.cap_us.0 as f64);
    drawing.line((axes.left, y), (axes.right(), y), "cap");
    let text = format!("cap {}: given up", data.cap_us);
    drawing.text(axes.right(), y - 8.0, "cap-label end", &text);
}

/// Rank by rank, as stairs: solid what was served, dashed what was given up or failed.
fn line(drawing: &mut Drawing, axes: &Axes, curve: &LatencyCurve, class: &str, nines: f64) {
    let mut before = 0.0;
    let mut parts: Vec<(bool, Vec<(f64, f64)>)> = Vec::new();
    for &LatencyPoint { share, us, failed } in &curve.points {
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
    let place = |share: f64| {
        curve.points.iter().find(|point| point.share >= share).map(|point| Micros(point.us))
    };
    let p50 = place(0.5).map(|us| us.to_string()).unwrap_or_default();
    let given_up = parts.last().is_some_and(|(failed, _)| *failed);
    let dy = if given_up { 22.0 } else { dy };
    let text = format!("{name}: p50 {p50}");
    drawing.text(x - 2.0, y + dy, &format!("curve-label end {class}"), &text);
    let dot = Rect { x: x - 4.0, y: y - 4.0, width: 8.0, height: 8.0 };
    drawing.rect(dot, &format!("class=\"dot {class}\""), "");
}
