//! The share of fetches not yet done, by age: what a client that waits has still before it.

use super::plot::{Axes, Drawing, Scale, time_decades};
use crate::curve::SurvivalPoint;
use crate::data::PageData;
use crate::words::percent;

pub(super) fn draw(data: &PageData) -> Option<Drawing> {
    let curves =
        [(&data.idle_survival, "idle", "idle"), (&data.load_survival, "load", "under load")];
    let (axes, ages) =
        axes(curves.iter().flat_map(|(points, ..)| points.iter()), data.cap_us, 540.0)?;
    let title = format!("share of fetches not yet done by age: {}", data.title);
    let mut drawing = Drawing::new("survival", &title, 640.0, 340.0);
    let ticks = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| (share, percent(share)));
    axes.y_ticks(&mut drawing, &ticks);
    axes.x_ticks(&mut drawing, &ages);
    let below = axes.bottom() + 42.0;
    drawing.text(axes.left, below, "label", "age of the fetch; the line is the share not yet done");
    let x = axes.x(data.cap_us as f64);
    drawing.line((x, axes.top), (x, axes.bottom()), "cap");
    drawing.text(x - 6.0, axes.top - 8.0, "cap-label end", &format!("cap {}", data.cap()));
    for (points, class, name) in curves {
        line(&mut drawing, &axes, points, class, name);
    }
    Some(drawing)
}

/// Where they stand across, and what is written there.
type Ticks = Vec<(f64, String)>;

/// Age across with its ticks, from below the first answer to beyond the cap; the share up. `None`: nothing is known.
pub(super) fn axes<'a>(
    points: impl Iterator<Item = &'a SurvivalPoint> + Clone,
    cap_us: u64,
    width: f64,
) -> Option<(Axes, Ticks)> {
    let known = points.clone().map(|point| point.us).max()?;
    let first = points.map(|point| point.us).filter(|us| *us > 0).min().unwrap_or(1_000);
    let high = known.max(cap_us) as f64 * 1.5;
    // Where nothing was ever done there is still an axis.
    let low = 10_f64.powf((first as f64).min(high / 100.0).max(1.0).log10().floor());
    let axes = Axes {
        left: 74.0,
        top: 26.0,
        width,
        height: 260.0,
        x: Scale::Log { low, high },
        y: Scale::Linear { low: 0.0, high: 1.0 },
    };
    Some((axes, time_decades(low, high)))
}

fn line(drawing: &mut Drawing, axes: &Axes, points: &[SurvivalPoint], class: &str, name: &str) {
    let mut stairs: Vec<(f64, f64)> = Vec::new();
    let mut remaining = 1.0;
    for point in points {
        let x = axes.x(point.us as f64);
        stairs.push((x, axes.y(remaining)));
        stairs.push((x, axes.y(point.remaining)));
        remaining = point.remaining;
    }
    drawing.path(&stairs, &format!("class=\"curve {class}\""));
    // At half height the curves are furthest apart; one that never gets there is named at its end.
    let middle = points.iter().find(|point| point.remaining <= 0.5);
    let (x, y) = match (middle, stairs.last()) {
        (Some(point), _) => (axes.x(point.us as f64), axes.y(0.55)),
        // Two that never get there stand below each other.
        (None, Some(&(x, y))) => (x, y + if class == "idle" { 54.0 } else { 30.0 }),
        (None, None) => return,
    };
    let (x, anchor) = if x > axes.left + 260.0 { (x - 8.0, " end") } else { (x + 8.0, "") };
    let never = if remaining > 0.0 {
        format!(": {} never done", percent(remaining))
    } else {
        String::new()
    };
    drawing.text(x, y - 6.0, &format!("curve-label {class}{anchor}"), &format!("{name}{never}"));
}
