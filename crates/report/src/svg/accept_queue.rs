//! Accept queues over the time of a run: connections that the kernel has finished and no worker has taken.

use std::collections::BTreeMap;

use records::{ListenerSample, Phase, RunRecords};

use super::plot::{Axes, Drawing, Rect, Scale, even_ticks, time_label};
use crate::page::{PageData, title};

/// So many lines can be told apart; of more, none is named.
const MOST_LINES: usize = 8;
/// So many points a line, at most: each is the largest of those it stands for.
const MOST_POINTS: usize = 600;

/// How lines are told apart: all are of ink.
const DASHES: [&str; 4] = ["", "7 4", "2 3", "12 3 2 3"];

/// One listener.
struct Line {
    name: String,
    /// SVG's dashes; empty: solid.
    dashes: &'static str,
    points: Vec<(f64, f64)>,
}

/// A line for each listener, in the order of workers.
fn lines(data: &PageData<'_>) -> Vec<Line> {
    let RunRecords { manifest, listeners, .. } = data.analysis.records;
    let end = data.end_us as f64;
    let place = |inode: u64| manifest.listeners.iter().position(|known| *known == inode);
    let mut by_inode: BTreeMap<(usize, u64), Vec<(f64, f64)>> = BTreeMap::new();
    for ListenerSample { at_ns, inode, queue, .. } in listeners {
        let at = data.clock.us(*at_ns) as f64;
        if at <= end {
            let of = by_inode.entry((place(*inode).unwrap_or(usize::MAX), *inode)).or_default();
            of.push((at, f64::from(*queue)));
        }
    }
    let is_shared = by_inode.len() == 1;
    let line = |(((place, inode), points), dashes): ((_, Vec<_>), _)| Line {
        name: match place {
            _ if is_shared => "the listener of all workers".to_owned(),
            usize::MAX => format!("listener {inode}"),
            worker => format!("worker {worker}"),
        },
        dashes,
        points,
    };
    by_inode.into_iter().zip(DASHES.into_iter().cycle()).map(line).collect()
}

pub(super) fn draw(data: &PageData<'_>) -> Option<Drawing> {
    let lines = lines(data);
    let highest = lines.iter().flat_map(|line| &line.points).map(|point| point.1);
    let highest = highest.reduce(f64::max)?;
    let (end, high) = (data.end_us as f64, (highest * 1.12).max(4.0));
    let axes = Axes {
        left: 104.0,
        top: 34.0,
        width: 520.0,
        height: 190.0,
        x: Scale::Linear { low: 0.0, high: end },
        y: Scale::Linear { low: 0.0, high },
    };
    let is_named = lines.len() <= MOST_LINES;
    let rows = if is_named { lines.len().div_ceil(4) } else { 1 };
    let what = format!("connections that wait to be accepted: {}", title(&data.analysis.summary));
    let mut drawing = Drawing::new("accept-queue", &what, 640.0, 272.0 + 22.0 * rows as f64);
    if let Some(span) = data.phase(Phase::Measure) {
        let (x, to) = (axes.x(span.start_us as f64), axes.x(span.end_us() as f64));
        let band = Rect { x, y: axes.top, width: to - x, height: axes.height };
        drawing.rect(band, "class=\"measured\"", "");
        drawing.text(x + 4.0, axes.top - 8.0, "tick", "fetches under load");
    }
    let ticks = even_ticks(high, 4).into_iter().map(|at| (at, format!("{at:.0}")));
    axes.y_ticks(&mut drawing, &ticks.collect::<Vec<_>>());
    let ticks = even_ticks(end, 8).into_iter().map(|at| (at, time_label(at)));
    axes.x_ticks(&mut drawing, &ticks.collect::<Vec<_>>());
    let limits = data.analysis.records.listeners.iter().map(|sample| f64::from(sample.limit));
    if let Some(limit) = limits.reduce(f64::min).filter(|limit| *limit <= high) {
        let y = axes.y(limit);
        drawing.line((axes.left, y), (axes.right(), y), "cap");
        drawing.text(axes.right(), y - 6.0, "cap-label end", &format!("full: {limit:.0}"));
    }
    let below = axes.bottom() + 48.0;
    if !is_named {
        drawing.text(20.0, below, "tick", &format!("{} listeners", lines.len()));
    }
    for (place, line) in lines.iter().enumerate() {
        let faint = if is_named { "" } else { " faint" };
        let stroke = format!(
            "class=\"series{faint}\" stroke=\"var(--ink)\" stroke-dasharray=\"{}\"",
            line.dashes
        );
        let points = thinned(&line.points);
        let points: Vec<_> = points.into_iter().map(|(x, y)| (axes.x(x), axes.y(y))).collect();
        drawing.path(&points, &stroke);
        if is_named {
            let (x, y) = (20.0 + (place % 4) as f64 * 152.0, below + (place / 4) as f64 * 22.0);
            drawing.path(&[(x, y - 5.0), (x + 26.0, y - 5.0)], &stroke);
            drawing.text(x + 32.0, y, "tick", &line.name);
        }
    }
    Some(drawing)
}

/// Fewer points, none of the peaks lost.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let every = points.len().div_ceil(MOST_POINTS).max(1);
    let highest = |part: &[(f64, f64)]| part.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    points.chunks(every).filter_map(highest).collect()
}
