//! Where times stand across the picture and workers above each other, and parts of it that are shown only
//! where they are seen.
//!
//! A time is a part of the width: a script that makes the figure ten times as wide has zoomed it. A
//! [`Part`] is stretched with it; what is not to be stretched (blocks with a hair of ground between
//! them, marks, letters) is not drawn in one.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::data::{PageData, Span};
use crate::escape;

/// What stands above the lanes: names of phases.
pub(super) const TOP: f64 = 34.0;

/// The time axis, and how high the figure is.
pub(super) struct Across {
    pub(super) end_us: u64,
    pub(super) height: f64,
    /// Whether a script can zoom: a sheet does without what is seen by that alone.
    pub(super) zooms: bool,
}

/// At which zooms something is seen, told by how many us of the run a pixel stands for.
#[derive(Clone, Copy)]
pub(super) enum Level {
    Always,
    /// From so many on.
    Coarse(f64),
    /// Below so many.
    Fine(f64),
}

impl Across {
    /// Where the time begins on a sheet, px.
    pub(super) const LEFT: f64 = 92.0;
    /// Width of the whole time on a sheet, px; about that of a large screen.
    pub(super) const WIDTH: f64 = 1096.0;

    /// Where an instant stands, and how wide a length of time is.
    pub(super) fn x(&self, us: u64) -> String {
        let part = format!("{:.6}", us as f64 * 100.0 / self.end_us as f64);
        format!("{}%", part.trim_end_matches('0').trim_end_matches('.'))
    }

    /// How many us a pixel stands for where the whole run is shown.
    pub(super) fn pixel(&self) -> f64 {
        self.end_us as f64 / Self::WIDTH
    }

    /// Where `count` things are too many to be drawn one by one: so many us a pixel show about `most`
    /// of them at once.
    pub(super) fn limit(&self, count: usize, most: usize) -> Option<f64> {
        (count > most).then(|| self.pixel() * most as f64 / count as f64)
    }

    /// What a script needs to show and hide something that lies in `span`.
    pub(super) fn seen(&self, span: Span, level: Level) -> String {
        let level = match level {
            Level::Always => String::new(),
            Level::Coarse(us) => format!(" data-least=\"{us:.3}\""),
            Level::Fine(us) if us > self.pixel() => format!(" data-below=\"{us:.3}\""),
            Level::Fine(us) => format!(" data-below=\"{us:.3}\" display=\"none\""),
        };
        format!(
            "class=\"part\" data-from=\"{}\" data-to=\"{}\"{level}",
            span.start_us,
            span.end_us()
        )
    }
}

/// Paths that are stretched as the picture is zoomed: a unit down is a px, and across it is a
/// microsecond after the part's start.
pub(super) struct Part<'a> {
    across: &'a Across,
    span: Span,
    level: Level,
}

impl<'a> Part<'a> {
    pub(super) const fn new(across: &'a Across, span: Span, level: Level) -> Self {
        Self { across, span, level }
    }

    /// Where an instant stands. Small numbers: browsers compute with 24 bits.
    pub(super) const fn x(&self, us: u64) -> u64 {
        us.saturating_sub(self.span.start_us)
    }

    /// A bar that is as long as `span`; how high it is, the stroke says.
    pub(super) fn bar(&self, span: Span, y: f64) -> String {
        format!("M{} {y}h{}", self.x(span.start_us), span.length_us)
    }

    /// Shapes, each with its layer and the attributes of its path. Those of a layer that look alike are
    /// drawn together, from left to right. Browsers paint in tiles, and for each of them whole paths: some
    /// shapes are a path, not all.
    pub(super) fn drawn(&self, shapes: impl IntoIterator<Item = (u8, String, String)>) -> String {
        const TOGETHER: usize = 64;
        let mut alike: BTreeMap<(u8, String), Vec<String>> = BTreeMap::new();
        for (layer, attributes, shape) in shapes {
            alike.entry((layer, attributes)).or_default().push(shape);
        }
        let mut inside = String::new();
        for ((_, attributes), shapes) in &alike {
            for some in shapes.chunks(TOGETHER) {
                let _ = write!(inside, "<path d=\"{}\" {attributes}/>", some.concat());
            }
        }
        if inside.is_empty() {
            return inside;
        }
        let Self { across, span, level } = self;
        let (height, length) = (across.height, span.length_us.max(1));
        format!(
            "<svg {} x=\"{}\" width=\"{}\" height=\"{height}\" viewBox=\"0 0 {length} {height}\" \
             preserveAspectRatio=\"none\">{inside}</svg>",
            across.seen(*span, *level),
            across.x(span.start_us),
            across.x(length)
        )
    }
}

/// A worker's place; or that of the fetches that no known worker accepted.
pub(super) struct Lane {
    pub(super) worker: Option<u32>,
    pub(super) top: f64,
    /// Height of the blocks.
    pub(super) blocks: f64,
    pub(super) rows: u32,
    pub(super) row_height: f64,
}

impl Lane {
    /// From above to below; `None`: there is nothing to show.
    pub(super) fn all(data: &PageData<'_>) -> Option<Vec<Self>> {
        let mut workers: Vec<Option<u32>> = data.workers.iter().copied().map(Some).collect();
        if data.has_unowned() {
            workers.push(None);
        }
        if workers.is_empty() || (data.fetches.is_empty() && data.holds.is_empty()) {
            return None;
        }
        // Many workers have less room each.
        let (high, most) = if workers.len() > 5 { (28.0, 8) } else { (44.0, 18) };
        let mut top = TOP + 6.0;
        let of = |worker: Option<u32>| {
            let own = data.fetches.iter().filter(|fetch| fetch.worker == worker);
            let rows = own.map(|fetch| fetch.row + 1).max().unwrap_or(1).min(most);
            let row_height = if rows > 10 { 6.0 } else { 9.0 };
            let blocks = if worker.is_some() { high } else { 6.0 };
            let lane = Self { worker, top, blocks, rows, row_height };
            top = lane.bottom();
            lane
        };
        Some(workers.into_iter().map(of).collect())
    }

    /// The middle of the blocks.
    pub(super) fn middle(&self) -> f64 {
        self.top + self.blocks / 2.0
    }

    /// Where the fetches begin.
    pub(super) fn base(&self) -> f64 {
        self.top + self.blocks
    }

    pub(super) fn bottom(&self) -> f64 {
        self.base() + f64::from(self.rows) * self.row_height + 18.0
    }

    /// The middle of a fetch's row.
    pub(super) fn row(&self, row: u32) -> f64 {
        self.base() + 9.0 + f64::from(row % self.rows) * self.row_height
    }
}

/// Texts at the start of a time, each where that has room for it; on a screen the script says anew
/// whether it has, and keeps the text in sight.
#[derive(Default)]
pub(super) struct Labels(pub(super) String);

impl Labels {
    pub(super) fn add(&mut self, across: &Across, span: Span, y: f64, class: &str, text: &str) {
        /// Width of a letter of a label, about.
        const LETTER: f64 = 8.8;
        let room = text.chars().count() as f64 * LETTER + 12.0;
        let fits = span.length_us as f64 / across.pixel() > room;
        let hidden = if fits { "" } else { " display=\"none\"" };
        let (x, from, to) = (across.x(span.start_us), span.start_us, span.end_us());
        let text = escape::html(text);
        let _ = writeln!(
            self.0,
            "<text x=\"{x}\" dx=\"6\" y=\"{y}\" class=\"{class}\" data-from=\"{from}\" \
             data-to=\"{to}\" data-room=\"{room:.0}\"{hidden}>{text}</text>"
        );
    }
}
