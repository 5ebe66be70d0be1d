//! Late time by cause, as bars.

use records::{Cause, Summary, count, percent};

use super::plot::{Drawing, Rect};
use crate::page::title;

const ROW: f64 = 46.0;
const TOP: f64 = 30.0;

pub(super) fn draw(summary: &Summary) -> Option<Drawing> {
    let causes = &summary.causes;
    if causes.is_empty() {
        return None;
    }
    let height = TOP + ROW * causes.len() as f64 + 8.0;
    let name = format!("late time by cause: {}", title(summary));
    let mut drawing = Drawing::new("causes", &name, 640.0, height);
    let late = &summary.late;
    let head = format!("{} late fetches, {} in all", late.fetches, late.time_us);
    drawing.text(8.0, 18.0, "label", &head);
    for (place, share) in causes.iter().enumerate() {
        let y = TOP + ROW * place as f64;
        let class = match share.cause {
            Cause::HeldByStep => "bar held",
            Cause::Unexplained => "bar unexplained",
            _ => "bar",
        };
        let words = format!("{}: {}", share.cause.name(), share.cause.words());
        drawing.text(8.0, y + 15.0, "tick", &words);
        let full = 430.0;
        let width = full * share.share_of_late_time.clamp(0.0, 1.0);
        let bar = |width| Rect { x: 8.0, y: y + 20.0, width, height: 16.0 };
        drawing.rect(bar(full), "class=\"trough\"", "");
        drawing.rect(bar(width.max(1.5)), &format!("class=\"{class}\""), &words);
        let led = match share.fetches {
            0 => String::new(),
            led => format!(", led {}", count(led, "fetch", "fetches")),
        };
        let figure = format!("{}{led}", percent(share.share_of_late_time));
        drawing.text(full + 18.0, y + 33.0, "tick strong", &figure);
    }
    Some(drawing)
}
