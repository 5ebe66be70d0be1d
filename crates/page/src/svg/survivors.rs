//! The share of an arm's fetches that are not yet done, by age: a line an arm.

use super::plot::{Axes, Drawing, cut};
use super::survival;
use crate::campaign::{ArmData, CampaignData};
use crate::words::percent;

/// Names below each other: so much for each.
const NAME: f64 = 22.0;
const COLUMNS: usize = 2;

pub(super) fn draw(campaign: &CampaignData) -> Option<Drawing> {
    let points = campaign.arms.iter().flat_map(|arm| &arm.survival);
    let (axes, ages) = survival::axes(points, campaign.cap_us.unwrap_or(0), 610.0)?;
    let arms: Vec<&ArmData> = campaign.arms.iter().filter(|arm| !arm.survival.is_empty()).collect();
    let rows = arms.len().div_ceil(COLUMNS) as f64;
    let title = format!("share of fetches not yet done by age: {}", campaign.title);
    let mut drawing = Drawing::new("survival", &title, 720.0, 346.0 + rows * NAME);
    let ticks = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| (share, percent(share)));
    axes.y_ticks(&mut drawing, &ticks);
    axes.x_ticks(&mut drawing, &ages);
    if let Some(cap) = campaign.cap_us {
        let x = axes.x(cap as f64);
        drawing.line((x, axes.top), (x, axes.bottom()), "cap");
        let text = format!("cap {}", records::Micros(cap));
        drawing.text(x - 6.0, axes.top - 8.0, "cap-label end", &text);
    }
    let below = axes.bottom() + 42.0;
    drawing.text(axes.left, below, "label", "age of the fetch; the line is the share not yet done");
    for (place, arm) in arms.iter().enumerate() {
        line(&mut drawing, &axes, arm);
        let x = axes.left + (place % COLUMNS) as f64 * 310.0;
        let y = below + 26.0 + (place / COLUMNS) as f64 * NAME;
        drawing.path(&[(x, y - 5.0), (x + 30.0, y - 5.0)], &stroke(arm));
        let left = arm.survival.last().map_or(0.0, |point| point.remaining);
        let never =
            if left > 0.0 { format!(": {} never done", percent(left)) } else { String::new() };
        let name = cut(&arm.name, 250.0 - never.len() as f64 * 7.4, 8.0);
        drawing.text(x + 38.0, y, "tick strong", &format!("{name}{never}"));
    }
    Some(drawing)
}

fn stroke(arm: &ArmData) -> String {
    let dashes = if arm.hatched { "7 4" } else { "" };
    format!("class=\"curve\" stroke=\"{}\" stroke-dasharray=\"{dashes}\"", arm.color)
}

fn line(drawing: &mut Drawing, axes: &Axes, arm: &ArmData) {
    let mut stairs: Vec<(f64, f64)> = Vec::new();
    let mut remaining = 1.0;
    for point in &arm.survival {
        let x = axes.x(point.us as f64);
        stairs.push((x, axes.y(remaining)));
        stairs.push((x, axes.y(point.remaining)));
        remaining = point.remaining;
    }
    drawing.path(&stairs, &stroke(arm));
}
