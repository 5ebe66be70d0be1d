//! Blocks of steps, and behind them short steps and other times away.
//!
//! A step that is a pixel wide or more when the whole run is shown is a block of its own. Of many
//! shorter ones the whole run shows how they shared each pixel's time; the steps themselves are drawn
//! for where it is zoomed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use records::{ListenerSample, RunRecords};

use super::across::{Across, Labels, Lane, Level, Part};
use crate::data::{HoldData, PageData, Span, StretchData};
use crate::svg::palette;
use crate::words;

/// Parts of the run whose time is shown as shared: about as many as a large screen has pixels across.
const CELLS: u64 = 1024;
/// So many short steps of a lane can be in sight at once, one by one.
const IN_SIGHT: usize = 1500;
/// So many steps make a part.
const TOGETHER: usize = 500;
/// So many cells do.
const CELLS_TOGETHER: usize = 64;
/// The same of blocks, each of which is an element.
const BLOCKS_TOGETHER: usize = 50;

/// The lane's steps, and the labels of those that `labelled` has, which are written over all blocks.
pub(super) fn draw(
    across: &Across,
    data: &PageData<'_>,
    lane: &Lane,
    labels: &mut Labels,
    labelled: u64,
) -> String {
    let own = data.holds.iter().filter(|hold| Some(hold.worker) == lane.worker);
    let cell = across.end_us.div_ceil(CELLS).max(1);
    let (long, short): (Vec<&HoldData>, Vec<&HoldData>) =
        own.partition(|hold| hold.span.length_us >= cell);
    let mut out = short_steps(across, data, lane) + &away(across, data, lane);
    let limit = across.limit(short.len(), IN_SIGHT);
    if let Some(limit) = limit {
        out += &shares(across, lane, &short, cell, Level::Coarse(limit));
    }
    if limit.is_none() || across.zooms {
        let level = limit.map_or(Level::Always, Level::Fine);
        out.extend(short.chunks(TOGETHER).map(|some| together(across, lane, some, level)));
    }
    for some in long.chunks(BLOCKS_TOGETHER) {
        let blocks: String = some.iter().map(|hold| block(across, lane, hold)).collect();
        let _ = write!(out, "<g {}>{blocks}</g>", across.seen(around(some), Level::Always));
    }
    for hold in long.into_iter().filter(|hold| hold.span.length_us >= labelled) {
        labels.add(across, hold.span, lane.top + 18.0, "on-block", &words::holder(hold.holder));
        if lane.blocks >= 40.0 {
            labels.add(across, hold.span, lane.top + 36.0, "on-block", &hold.told());
        }
    }
    out
}

fn around(holds: &[&HoldData]) -> Span {
    Span::around(holds.iter().map(|hold| hold.span))
}

fn block(across: &Across, lane: &Lane, hold: &HoldData) -> String {
    let (x, wide) = (across.x(hold.span.start_us), across.x(hold.span.length_us));
    let fill = palette::holder(hold.holder);
    // Steps that follow each other are told apart by a hair of ground; none is too short to be seen.
    format!(
        "<rect x=\"{x}\" y=\"{}\" width=\"{wide}\" height=\"{}\" class=\"block\" fill=\"{fill}\" \
         style=\"width:max(1px,{wide} - 1px)\"/>\n",
        lane.top, lane.blocks
    )
}

/// Steps as they are, in the ink of each.
fn together(across: &Across, lane: &Lane, holds: &[&HoldData], level: Level) -> String {
    let part = Part::new(across, around(holds), level);
    part.drawn(holds.iter().map(|hold| {
        let (color, high) = (palette::holder(hold.holder), lane.blocks);
        let stroke = format!("stroke=\"{color}\" stroke-width=\"{high}\"");
        (0, format!("class=\"bars hold\" {stroke}"), part.bar(hold.span, lane.middle()))
    }))
}

/// How the time of every cell of the run was shared among the steps of each ink, stacked from below.
fn shares(across: &Across, lane: &Lane, holds: &[&HoldData], cell: u64, level: Level) -> String {
    let mut taken: BTreeMap<u64, BTreeMap<&str, u64>> = BTreeMap::new();
    for hold in holds {
        let (mut at, end) = (hold.span.start_us, hold.span.end_us().min(across.end_us));
        while at < end {
            let next = (at / cell).saturating_add(1).saturating_mul(cell).min(end);
            let inks = taken.entry(at / cell).or_default();
            *inks.entry(palette::holder(hold.holder)).or_default() += next - at;
            at = next;
        }
    }
    let cells: Vec<(u64, BTreeMap<&str, u64>)> = taken.into_iter().collect();
    let of = |some: &[(u64, BTreeMap<&str, u64>)]| {
        let start = some.first().map_or(0, |(place, _)| place * cell);
        let end =
            some.last().map_or(0, |(place, _)| place.saturating_mul(cell)).saturating_add(cell);
        let part = Part::new(across, Span::new(start, end), level);
        let mut shapes = Vec::new();
        for (place, inks) in some {
            let (x, mut y) = (part.x(place * cell), lane.base());
            for (color, us) in inks {
                let high = *us as f64 / cell as f64 * lane.blocks;
                let shape = format!("M{x} {y:.1}h{cell}v-{high:.1}h-{cell}z");
                shapes.push((0, format!("class=\"shares\" fill=\"{color}\""), shape));
                y -= high;
            }
        }
        part.drawn(shapes)
    };
    cells.chunks(CELLS_TOGETHER).map(of).collect()
}

/// Short steps, faint: the busier, the darker, in five shades.
fn short_steps(across: &Across, data: &PageData<'_>, lane: &Lane) -> String {
    let own = data.stretches.iter().filter(|stretch| Some(stretch.worker) == lane.worker);
    let of = |some: &[&StretchData]| {
        let span = Span::around(some.iter().map(|stretch| stretch.span));
        let part = Part::new(across, span, Level::Always);
        part.drawn(some.iter().map(|stretch| {
            let (opacity, high) = (0.06 + 0.07 * stretch.shade() as f64, lane.blocks * 0.6);
            let stroke = format!("stroke-opacity=\"{opacity:.2}\" stroke-width=\"{high:.1}\"");
            let bar = part.bar(stretch.span, lane.top + lane.blocks * 0.7);
            (0, format!("class=\"bars steps\" {stroke}"), bar)
        }))
    };
    own.collect::<Vec<&StretchData>>().chunks(TOGETHER).map(of).collect()
}

fn away(across: &Across, data: &PageData<'_>, lane: &Lane) -> String {
    let own = data.absences.iter().filter(|absence| Some(absence.worker) == lane.worker);
    let part = Part::new(across, Span::new(0, across.end_us), Level::Always);
    let class = format!("class=\"bars away\" stroke-width=\"{}\"", lane.blocks);
    part.drawn(own.map(|absence| (0, class.clone(), part.bar(absence.span, lane.middle()))))
}

/// Connections that wait to be accepted by the worker, below its fetches; the largest depth of the run is as
/// high as there is room.
pub(super) fn queue(across: &Across, data: &PageData<'_>, lane: &Lane) -> String {
    const HIGH: f64 = 12.0;
    let RunRecords { manifest, listeners, .. } = data.analysis.records;
    let own = lane.worker.and_then(|worker| manifest.listeners.get(usize::try_from(worker).ok()?));
    // One that all share is in each of their lanes.
    let shared = manifest.listeners.first().filter(|_| manifest.listeners.len() == 1);
    let (Some(inode), Some(most)) = (own.or(shared), data.deepest_queue()) else {
        return String::new();
    };
    let own: Vec<_> = listeners.iter().filter(|sample| sample.inode == *inode).collect();
    let part = Part::new(across, Span::new(0, across.end_us), Level::Always);
    let bar = |pair: &[&ListenerSample]| {
        let [from, to] = pair else { return None };
        let (x, wide) = (data.clock.us(from.at_ns), to.at_ns.micros_since(from.at_ns).0);
        let high = HIGH * f64::from(from.queue) / f64::from(most);
        let shape = format!("M{x} {:.1}h{wide}v-{high:.1}h-{wide}z", lane.bottom());
        (from.queue > 0).then(|| (0, "class=\"queue\"".to_owned(), shape))
    };
    part.drawn(own.windows(2).filter_map(bar))
}
