//! The rows of an arm, and which of them a screen of a given height has: what matters less gives way.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span, Text};
use ratatui_core::widgets::Widget;
use ratatui_widgets::sparkline::Sparkline;

/// A row of an arm, or a few that belong together.
#[derive(Clone, Debug)]
pub(super) struct Row<'a> {
    pub(super) rank: Rank,
    pub(super) height: u16,
    pub(super) body: Body<'a>,
}

/// What stays longest on a small screen comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Gap,
    Aside,
    Longest,
    Big,
    Good,
    Failed,
    Queue,
    Lane,
    State,
    Counts,
}

#[derive(Clone, Debug)]
pub(super) enum Body<'a> {
    /// Over the whole width.
    Text(Text<'a>),
    /// The same cells in each row, between a label and a figure.
    Lane { label: Span<'a>, cells: Line<'a>, figure: Span<'a> },
    /// Bars between a label and a figure.
    Bars { label: Span<'a>, bars: Bars, figure: Span<'a> },
}

/// A number for each cell.
#[derive(Clone, Debug)]
pub(super) struct Bars {
    pub(super) values: Vec<u32>,
    /// What a full bar stands for; 1 at least.
    pub(super) full: u32,
    pub(super) style: Style,
}

/// Cells before a lane, and after it.
const LABEL: u16 = 3;
const FIGURE: u16 = 6;
/// Lanes and queues grow to this many rows.
const MOST: u16 = 4;

/// Takes the least of `rows` away until the others fit into `height`, and shares what is left of it
/// among lanes and queues. Returns how many lanes there was no room for.
pub(super) fn fit(rows: &mut Vec<Row<'_>>, height: u16) -> usize {
    let mut hidden = 0;
    while used(rows) > height {
        let Some(least) = (0..rows.len()).rev().min_by_key(|&at| rows[at].rank) else { break };
        hidden += usize::from(rows.remove(least).rank == Rank::Lane);
    }
    let left = height - used(rows);
    let grows = |row: &&mut Row<'_>| matches!(row.rank, Rank::Lane | Rank::Queue);
    let growing: Vec<&mut Row<'_>> = rows.iter_mut().filter(grows).collect();
    let more = left.checked_div(u16::try_from(growing.len()).unwrap_or(u16::MAX)).unwrap_or(0);
    growing.into_iter().for_each(|row| row.height += more.min(MOST - 1));
    hidden
}

fn used(rows: &[Row<'_>]) -> u16 {
    rows.iter().map(|row| row.height).sum()
}

/// Cells of a lane within `width`.
pub(super) fn lane_width(width: u16) -> usize {
    usize::from(width.saturating_sub(LABEL + FIGURE))
}

impl<'a> Row<'a> {
    /// One row of text.
    pub(super) fn text(rank: Rank, text: impl Into<Span<'a>>) -> Self {
        Self { rank, height: 1, body: Body::Text(Line::from(text.into()).into()) }
    }

    pub(super) fn draw(self, area: Rect, buf: &mut Buffer) {
        let place = Rect {
            x: area.x.saturating_add(LABEL),
            width: area.width.saturating_sub(LABEL + FIGURE),
            ..area
        };
        let ends = |label: Span<'_>, figure: Span<'_>, buf: &mut Buffer| {
            label.render(Rect { width: LABEL.min(area.width), ..area }, buf);
            let (x, width) = (place.right(), area.right().saturating_sub(place.right()));
            let figure = Span { content: format!("{:>5}", figure.content).into(), ..figure };
            figure.render(Rect { x, width, ..area }, buf);
        };
        match self.body {
            Body::Text(text) => text.render(area, buf),
            Body::Lane { label, cells, figure } => {
                place.rows().for_each(|row| (&cells).render(row, buf));
                ends(label, figure, buf);
            }
            Body::Bars { label, bars, figure } => {
                // Rounded up: one connection that waits is to be seen.
                let eighths = u64::from(place.height) * 8;
                let full = u64::from(bars.full.max(1));
                let values = bars.values.iter();
                let values = values.map(|&value| (u64::from(value) * eighths).div_ceil(full));
                let bars = Sparkline::default().style(bars.style).data(values);
                bars.max(eighths).render(place, buf);
                ends(label, figure, buf);
            }
        }
    }
}

#[cfg(test)]
mod tests;
