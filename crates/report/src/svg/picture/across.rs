//! Where times stand across the picture, and parts of it that are shown only where they are seen.
//!
//! On a screen a time is a part of the width: a script that makes the figure ten times as wide has
//! zoomed it. A [`Part`] is stretched with it; what is not to be stretched (blocks with a hair of
//! ground between them, marks, letters) is not drawn in one.

use std::fmt::{Display, Write as _};

use crate::page::Span;

/// What the picture is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Medium {
    /// A document of its own, of fixed size.
    Sheet,
    /// The page, which is as wide as it is, and zooms.
    Screen,
}

/// The time axis, and how high the figure is.
pub(super) struct Across {
    pub(super) medium: Medium,
    pub(super) end_us: u64,
    pub(super) height: f64,
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

    /// Where an instant stands.
    pub(super) fn x(&self, us: u64) -> String {
        self.place(us, Self::LEFT)
    }

    /// How wide a length of time is.
    pub(super) fn wide(&self, us: u64) -> String {
        self.place(us, 0.0)
    }

    fn place(&self, us: u64, from: f64) -> String {
        match self.medium {
            Medium::Sheet => format!("{:.1}", from + us as f64 / self.pixel()),
            Medium::Screen => {
                let part = format!("{:.6}", us as f64 * 100.0 / self.end_us as f64);
                format!("{}%", part.trim_end_matches('0').trim_end_matches('.'))
            }
        }
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
        if self.medium == Medium::Sheet {
            return "class=\"part\"".to_owned();
        }
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
/// microsecond after the part's start, or on a sheet a px as well.
pub(super) struct Part<'a> {
    across: &'a Across,
    span: Span,
    level: Level,
    inside: String,
}

impl<'a> Part<'a> {
    pub(super) const fn new(across: &'a Across, span: Span, level: Level) -> Self {
        Self { across, span, level, inside: String::new() }
    }

    /// Where an instant stands.
    pub(super) fn x(&self, us: u64) -> impl Display + use<> {
        let Span { start_us, .. } = self.span;
        match self.across.medium {
            Medium::Sheet => self.across.x(us),
            // Small numbers: browsers compute with 24 bits.
            Medium::Screen => us.saturating_sub(start_us).to_string(),
        }
    }

    pub(super) fn wide(&self, us: u64) -> impl Display + use<> {
        match self.across.medium {
            Medium::Sheet => self.across.wide(us),
            Medium::Screen => us.to_string(),
        }
    }

    /// A bar that is as long as `span`; how high it is, the stroke says.
    pub(super) fn bar(&self, span: Span, y: f64) -> String {
        format!("M{} {y}h{}", self.x(span.start_us), self.wide(span.length_us))
    }

    /// Shapes that look alike, from left to right. Browsers paint in tiles, and for each of them whole
    /// paths: some shapes are a path, not all.
    pub(super) fn paths(&mut self, shapes: &[String], attributes: &str) {
        const TOGETHER: usize = 64;
        for some in shapes.chunks(TOGETHER) {
            let _ = write!(self.inside, "<path d=\"{}\" {attributes}/>", some.concat());
        }
    }

    pub(super) fn end(self) -> String {
        let Self { across, span, level, inside } = self;
        let Across { medium, height, .. } = across;
        match medium {
            _ if inside.is_empty() => String::new(),
            Medium::Sheet => format!("<g>{inside}</g>"),
            Medium::Screen => format!(
                "<svg {} x=\"{}\" width=\"{}\" height=\"{height}\" viewBox=\"0 0 {} {height}\" \
                 preserveAspectRatio=\"none\">{inside}</svg>",
                across.seen(span, level),
                across.x(span.start_us),
                across.wide(span.length_us.max(1)),
                span.length_us.max(1)
            ),
        }
    }
}
