//! The picture without a script: lanes, holds and fetches over the whole run.

use std::collections::BTreeMap;

use records::{Bytes, Micros};

use super::plot::{Axes, Drawing, Rect, Scale, even_ticks, time_label};
use crate::data::{HoldColumns, PageData};
use crate::{palette, words};

const WIDTH: f64 = 1200.0;
const LEFT: f64 = 92.0;
const BLOCKS: f64 = 44.0;
const MOST_ROWS: u32 = 18;
/// Width of a bold letter of a label, about.
const LETTER: f64 = 8.8;

pub(super) fn draw(data: &PageData) -> Option<Drawing> {
    let mut lanes: Vec<i64> = data.workers.iter().copied().map(i64::from).collect();
    if data.has_unowned() {
        lanes.push(-1);
    }
    if lanes.is_empty() || (data.fetches.is_empty() && data.holds.is_empty()) {
        return None;
    }
    let places: Vec<Lane> = layout(data, &lanes);
    let bottom = places.last().map_or(40.0, |lane| lane.top + lane.height());
    let title = format!("workers, steps and fetches over time: {}", data.title);
    let mut drawing = Drawing::new("picture", &title, WIDTH, bottom + 78.0);
    let axes = Axes {
        left: LEFT,
        top: 34.0,
        width: WIDTH - LEFT - 12.0,
        height: bottom - 34.0,
        x: Scale::Linear { low: 0.0, high: data.end_us as f64 },
        y: Scale::Linear { low: 0.0, high: 1.0 },
    };
    phases(&mut drawing, &axes, data);
    let ticks = even_ticks(data.end_us as f64, 12).into_iter().map(|at| (at, time_label(at)));
    axes.x_ticks(&mut drawing, &ticks.collect::<Vec<_>>());
    for lane in &places {
        draw_lane(&mut drawing, &axes, data, lane);
    }
    legend(&mut drawing, data, bottom + 50.0);
    Some(drawing)
}

struct Lane {
    worker: i64,
    top: f64,
    blocks: f64,
    rows: u32,
}

impl Lane {
    const fn row_height(&self) -> f64 {
        if self.rows > 10 { 6.0 } else { 9.0 }
    }

    fn height(&self) -> f64 {
        self.blocks + f64::from(self.rows) * self.row_height() + 18.0
    }
}

fn layout(data: &PageData, lanes: &[i64]) -> Vec<Lane> {
    let mut top = 40.0;
    let of = |&worker: &i64| {
        let rows = data.fetches.worker.iter().zip(&data.fetches.row);
        let rows = rows.filter(|(owner, _)| **owner == worker).map(|(_, row)| row + 1).max();
        let blocks = if worker < 0 { 6.0 } else { BLOCKS };
        let lane = Lane { worker, top, blocks, rows: rows.unwrap_or(1).min(MOST_ROWS) };
        top += lane.height();
        lane
    };
    lanes.iter().map(of).collect()
}

fn phases(drawing: &mut Drawing, axes: &Axes, data: &PageData) {
    for phase in &data.phases {
        let (x, end) = (axes.x(phase.start_us as f64), axes.x(phase.end_us as f64));
        if phase.name == "measure" {
            let band = Rect { x, y: axes.top, width: end - x, height: axes.height };
            drawing.rect(band, "class=\"measured\"", "");
        }
        drawing.line((x, axes.top - 14.0), (x, axes.bottom()), "phase");
        if end - x > 46.0 {
            drawing.text(x + 4.0, axes.top - 6.0, "tick", phase.name);
        }
    }
}

fn draw_lane(drawing: &mut Drawing, axes: &Axes, data: &PageData, lane: &Lane) {
    let name =
        if lane.worker < 0 { "unknown".to_owned() } else { format!("worker {}", lane.worker) };
    drawing.text(8.0, lane.top + lane.blocks / 2.0 + 5.0, "label", &name);
    let base = lane.top + lane.blocks;
    drawing.line((axes.left, base), (axes.right(), base), "grid");
    let blocks = holds(axes, data, lane);
    for hold in &blocks {
        let at = Rect { x: hold.x, y: lane.top, width: hold.width, height: lane.blocks };
        drawing.rect(
            at,
            &format!("fill=\"{}\" class=\"block\"", palette::holder(hold.holder)),
            &hold.told,
        );
    }
    // Over all blocks: the next one must not cut a label.
    for hold in &blocks {
        let fits = |text: &str| text.len() as f64 * LETTER + 12.0 < hold.width;
        let name = words::holder(hold.holder);
        if fits(&name) {
            drawing.text(hold.x + 6.0, lane.top + 18.0, "on-block", &name);
        }
        if fits(&name) && fits(&hold.figures) {
            drawing.text(hold.x + 6.0, lane.top + 36.0, "on-block", &hold.figures);
        }
    }
    fetches(drawing, axes, data, lane, base);
}

/// Holds as drawn: neighbours of one holder that cannot be told apart are one block.
struct Block {
    x: f64,
    width: f64,
    holder: i64,
    told: String,
    figures: String,
}

fn holds(axes: &Axes, data: &PageData, lane: &Lane) -> Vec<Block> {
    let holds: &HoldColumns = &data.holds;
    let mut columns: BTreeMap<i64, (i64, u64)> = BTreeMap::new();
    let mut blocks = Vec::new();
    let rows = holds.worker.iter().zip(&holds.start_us).zip(&holds.length_us);
    for (((&worker, &start), &length), (&holder, &bytes)) in
        rows.zip(holds.holder.iter().zip(&holds.bytes))
    {
        if i64::from(worker) != lane.worker {
            continue;
        }
        let x = axes.x(start as f64);
        let width = axes.x((start + length) as f64) - x;
        if width >= 1.5 {
            let figures = format!("{}, {}", Micros(length), Bytes(bytes));
            let told = format!("{}: {figures}", words::holder(holder));
            blocks.push(Block { x, width: (width - 0.5).max(1.0), holder, told, figures });
        } else {
            // Of those within one pixel, the longest is shown.
            #[expect(clippy::cast_possible_truncation, reason = "places on paper are small")]
            let column = columns.entry(x as i64).or_insert((holder, 0));
            if length > column.1 {
                *column = (holder, length);
            }
        }
    }
    let thin = columns.into_iter().map(|(x, (holder, _))| {
        let (told, figures) = Default::default();
        Block { x: x as f64, width: 1.0, holder, told, figures }
    });
    blocks.extend(thin);
    blocks
}

fn fetches(drawing: &mut Drawing, axes: &Axes, data: &PageData, lane: &Lane, base: f64) {
    let fetches = &data.fetches;
    let times = fetches.start_us.iter().zip(&fetches.total_us);
    let of_lane = fetches.worker.iter().zip(&fetches.row).zip(times);
    let told = fetches.outcome.iter().zip(&fetches.held);
    for (((&worker, &row), (&start, &total)), (&outcome, held)) in of_lane.zip(told) {
        if worker != lane.worker {
            continue;
        }
        let y = base + 9.0 + f64::from(row % lane.rows) * lane.row_height();
        let (from, to) = (axes.x(start as f64), axes.x((start + total) as f64));
        let class = if outcome == 0 { "ok" } else { "failed" };
        drawing.line((from, y), (to.max(from + 1.0), y), &format!("tail {class}"));
        // Above the line: one that shone through would make it another's colour.
        behind(drawing, axes, data, held, (start, start + total), y);
        drawing.line((from, y - 3.0), (from, y + 3.0), &format!("tail {class}"));
        let mark = if outcome == 0 {
            format!("<circle cx=\"{to:.1}\" cy=\"{y:.1}\" r=\"2.6\" class=\"mark ok\"/>")
        } else {
            let (x, y) = (to - 3.0, y - 3.0);
            format!("<path d=\"M{x:.1} {y:.1}l6 6m0 -6l-6 6\" class=\"mark failed\"/>")
        };
        drawing.raw(&mark);
    }
}

/// The parts of a tail in which the fetch waited behind others, in the colours of those.
fn behind(
    drawing: &mut Drawing,
    axes: &Axes,
    data: &PageData,
    held: &[(usize, u64)],
    (start, end): (u64, u64),
    y: f64,
) {
    let holds = &data.holds;
    for &(hold, _) in held {
        let span = holds.start_us.get(hold).zip(holds.length_us.get(hold));
        let Some(((&from, &length), &holder)) = span.zip(holds.holder.get(hold)) else { continue };
        let (from, to) = (axes.x(from.max(start) as f64), axes.x((from + length).min(end) as f64));
        if to - from >= 0.5 {
            let at = Rect { x: from, y: y - 2.5, width: to - from, height: 5.0 };
            drawing.rect(at, &format!("fill=\"{}\"", palette::holder(holder)), "");
        }
    }
}

fn legend(drawing: &mut Drawing, data: &PageData, y: f64) {
    let mut x = LEFT;
    for download in data.downloads.iter().take(6) {
        let at = Rect { x, y: y - 12.0, width: 16.0, height: 14.0 };
        drawing.rect(at, &format!("fill=\"{}\"", download.color), "");
        drawing.text(x + 22.0, y, "tick", &format!("download {}", download.slot));
        x += 128.0;
    }
    drawing
        .raw(&format!("<circle cx=\"{x:.1}\" cy=\"{:.1}\" r=\"3\" class=\"mark ok\"/>", y - 5.0));
    drawing.text(x + 10.0, y, "tick", "served");
    x += 86.0;
    let cross = format!("<path d=\"M{x:.1} {:.1}l8 8m0 -8l-8 8\" class=\"mark failed\"/>", y - 9.0);
    drawing.raw(&cross);
    drawing.text(x + 14.0, y, "tick", "failed");
    drawing.text(
        LEFT,
        y + 22.0,
        "tick",
        "a block: one step, in which its worker served nobody else",
    );
}
