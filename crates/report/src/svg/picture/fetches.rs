//! Fetches: a short bar where one starts, a line while it waits, a mark of its outcome at its end.
//!
//! Where there are too many to be told apart, a mark is a dot.

use std::fmt::Write as _;

use super::across::{Across, Lane, Level, Part};
use crate::data::{FetchData, PageData, Span};
use crate::svg::palette;

/// So many fetches make a part.
const TOGETHER: usize = 100;
/// So many marks can be in sight at once.
const IN_SIGHT: usize = 300;

pub(super) fn draw(across: &Across, data: &PageData<'_>, lane: &Lane) -> String {
    let own: Vec<&FetchData> = data.fetches.iter().filter(|f| f.worker == lane.worker).collect();
    let limit = across.limit(data.fetches.len(), IN_SIGHT);
    let mut out = String::new();
    for some in own.chunks(TOGETHER) {
        let span = Span::around(some.iter().map(|fetch| fetch.span));
        out += &lines(across, data, lane, some, span);
        if let Some(limit) = limit {
            out += &dots(across, lane, some, span, Level::Coarse(limit));
        }
        if limit.is_some() && !across.zooms {
            continue;
        }
        let mark = |fetch: &&FetchData| {
            palette::mark(fetch.outcome, &across.x(fetch.span.end_us()), lane.row(fetch.row))
        };
        let marks: String = some.iter().map(mark).collect();
        let level = limit.map_or(Level::Always, Level::Fine);
        let _ = writeln!(out, "<g {}>{marks}</g>", across.seen(span, level));
    }
    out
}

/// Lines with their starts, and over them the parts in which a fetch waited behind others.
fn lines(
    across: &Across,
    data: &PageData<'_>,
    lane: &Lane,
    fetches: &[&FetchData],
    span: Span,
) -> String {
    let part = &Part::new(across, span, Level::Always);
    let high = (lane.row_height * 0.62).min(5.0);
    part.drawn(fetches.iter().flat_map(|fetch| {
        let (x, y) = (part.x(fetch.span.start_us), lane.row(fetch.row));
        let line = format!("M{x} {}v6m0-3h{}", y - 3.0, fetch.span.length_us);
        let tail = format!("class=\"tail {}\"", palette::class(fetch.outcome));
        let holds = fetch.held.iter().filter_map(move |(hold, _)| data.holds.get(*hold));
        let behind = holds.map(move |hold| {
            let stroke =
                format!("stroke=\"{}\" stroke-width=\"{high:.1}\"", palette::holder(hold.holder));
            let bar = part.bar(hold.span.common(fetch.span), y);
            (1, format!("class=\"bars behind\" {stroke}"), bar)
        });
        [(0, tail, line)].into_iter().chain(behind)
    }))
}

/// Failures lie over what was served.
fn dots(across: &Across, lane: &Lane, fetches: &[&FetchData], span: Span, level: Level) -> String {
    let part = Part::new(across, span, level);
    part.drawn(fetches.iter().map(|fetch| {
        let (class, y) = (palette::class(fetch.outcome), lane.row(fetch.row));
        let dot = format!("M{} {y}h0", part.x(fetch.span.end_us()));
        (u8::from(class != "ok"), format!("class=\"dots {class}\""), dot)
    }))
}
