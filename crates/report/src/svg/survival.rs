//! The share of fetches not yet done, by age: what a client that waits has still before it.

use records::{Micros, percent};

use super::plot::{Axes, Drawing, Scale, cut, time_decades};
use crate::campaign::{ArmData, CampaignData};
use crate::curve::SurvivalPoint;
use crate::data::PageData;

/// Of a run: idle and under load.
pub(super) fn draw(data: &PageData) -> Option<Drawing> {
    let [idle, load] = &data.survival;
    let curves = [(idle, "idle", "idle"), (load, "load", "under load")];
    let points = curves.iter().flat_map(|(points, ..)| points.iter());
    let (mut drawing, axes) = frame(&data.title, points, Some(data.cap_us.0), (640.0, 340.0))?;
    for (points, class, name) in curves {
        drawing.path(&stairs(&axes, points), &format!("class=\"curve {class}\""));
        // At half height the curves are furthest apart; one that never gets there is named at its
        // end, and two of them below each other.
        let (x, y) = match (points.iter().find(|point| point.remaining <= 0.5), points.last()) {
            (Some(middle), _) => (axes.x(middle.us as f64), axes.y(0.55)),
            (None, Some(last)) => {
                let below = if class == "idle" { 54.0 } else { 30.0 };
                (axes.x(last.us as f64), axes.y(last.remaining) + below)
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
pub(super) fn of_arms(campaign: &CampaignData) -> Option<Drawing> {
    /// Names below each other: so much for each.
    const NAME: f64 = 22.0;
    const COLUMNS: usize = 2;
    let arms: Vec<&ArmData> = campaign.arms.iter().filter(|arm| !arm.survival.is_empty()).collect();
    let rows = arms.len().div_ceil(COLUMNS) as f64;
    let points = arms.iter().flat_map(|arm| &arm.survival);
    let (mut drawing, axes) =
        frame(&campaign.title, points, campaign.cap_us, (720.0, 346.0 + rows * NAME))?;
    for (place, arm) in arms.iter().enumerate() {
        let dashes = if arm.ink.hatched { "7 4" } else { "" };
        let stroke =
            format!("class=\"curve\" stroke=\"{}\" stroke-dasharray=\"{dashes}\"", arm.ink.color);
        drawing.path(&stairs(&axes, &arm.survival), &stroke);
        let x = axes.left + (place % COLUMNS) as f64 * 310.0;
        let y = axes.bottom() + 68.0 + (place / COLUMNS) as f64 * NAME;
        drawing.path(&[(x, y - 5.0), (x + 30.0, y - 5.0)], &stroke);
        let never = never(&arm.survival);
        let name = cut(&arm.name, 250.0 - never.len() as f64 * 7.4, 8.0);
        drawing.text(x + 38.0, y, "tick strong", &format!("{name}{never}"));
    }
    Some(drawing)
}

/// Age across, from below the first answer to beyond the cap, and the share up; `None`: nothing is
/// known.
fn frame<'a>(
    title: &str,
    points: impl Iterator<Item = &'a SurvivalPoint> + Clone,
    cap_us: Option<u64>,
    (width, height): (f64, f64),
) -> Option<(Drawing, Axes)> {
    let known = points.clone().map(|point| point.us).max()?;
    let first = points.map(|point| point.us).filter(|us| *us > 0).min().unwrap_or(1_000);
    let high = known.max(cap_us.unwrap_or(0)) as f64 * 1.5;
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
    if let Some(cap) = cap_us {
        let x = axes.x(cap as f64);
        drawing.line((x, axes.top), (x, axes.bottom()), "cap");
        let text = format!("cap {}", Micros(cap));
        drawing.text(x - 6.0, axes.top - 8.0, "cap-label end", &text);
    }
    Some((drawing, axes))
}

fn stairs(axes: &Axes, points: &[SurvivalPoint]) -> Vec<(f64, f64)> {
    let before = std::iter::once(1.0).chain(points.iter().map(|point| point.remaining));
    let stair = |(point, before): (&SurvivalPoint, f64)| {
        let x = axes.x(point.us as f64);
        [(x, axes.y(before)), (x, axes.y(point.remaining))]
    };
    points.iter().zip(before).flat_map(stair).collect()
}

/// `: 79 % never done`.
fn never(points: &[SurvivalPoint]) -> String {
    match points.last() {
        Some(last) if last.remaining > 0.0 => format!(": {} never done", percent(last.remaining)),
        _ => String::new(),
    }
}
