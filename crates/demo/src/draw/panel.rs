//! One arm: where its trial stands, what became of its fetches, what its workers do, what queues.

use std::iter;
use std::time::Duration;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style as Look;
use ratatui_core::symbols::border;
use ratatui_core::text::{Line, Span, Text};
use ratatui_core::widgets::Widget;
use ratatui_widgets::block::Block;
use ratatui_widgets::sparkline::Sparkline;
use records::{Holder, MonoNs, Outcome, Phase};
use report::Style;

use super::look::{self, FAILED, GOOD, Ink};
use crate::arm::{ArmView, Counts, Queue, Stage};
use crate::lane::{Cell, Extent, Window, Worker};
use crate::show::Show;
use crate::words;

/// An arm to be drawn.
#[derive(Clone, Copy)]
pub(super) struct Panel<'a> {
    pub(super) arm: &'a ArmView,
    pub(super) show: &'a Show,
    /// Where its lanes end.
    pub(super) at: MonoNs,
    pub(super) style: Style,
    /// Whether the act is about it.
    pub(super) active: bool,
    /// The longest queue of both arms: bars of both have one scale.
    pub(super) peak: u32,
}

/// A row of an arm, or a few that belong together.
#[derive(Clone, Debug)]
struct Row {
    height: u16,
    need: Need,
    body: Body,
}

/// Which rows a small screen goes without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// All of these, before any other.
    Spare,
    /// Those at the bottom first.
    Wanted,
    /// The same; one that shows more where there is room.
    Grows,
}

#[derive(Clone, Debug)]
enum Body {
    /// Over the whole width.
    Text(Text<'static>),
    /// The same cells in each row, between a label and a figure.
    Lane { label: Span<'static>, cells: Line<'static>, figure: Span<'static> },
    /// A bar for each cell, between a label and a figure.
    Bars { label: Span<'static>, values: Vec<u32>, figure: Span<'static> },
}

/// What lanes show while a trial runs.
const WINDOW: Duration = Duration::from_secs(9);
/// A full bar stands for this many connections at least.
const SCALE: u32 = 8;
/// Cells before a lane, and after it.
const LABEL: u16 = 3;
const FIGURE: u16 = 6;
/// Lanes and queues grow by this many rows.
const GROWTH: u16 = 3;

impl Panel<'_> {
    /// Draws the arm over `area`. A small screen has no frame.
    pub(super) fn draw(self, area: Rect, buf: &mut Buffer) {
        let framed = area.width >= 12 && area.height >= 6;
        let inner = if framed { self.frame(area, buf) } else { area };
        let rows = fitting(self.rows(inner), inner.height);
        let mut rest = inner;
        for row in rows {
            let height = row.height;
            self.row(row, Rect { height, ..rest }, buf);
            rest = Rect { y: rest.y + height, height: rest.height - height, ..rest };
        }
    }

    fn frame(self, area: Rect, buf: &mut Buffer) -> Rect {
        let plan = &self.arm.plan;
        let ink = if self.active { Ink::Strong } else { Ink::Soft };
        let block = Block::bordered()
            .border_set(if self.active { border::THICK } else { border::PLAIN })
            .border_style(self.look(ink))
            .title(format!(" {}: {} ", plan.name, plan.options));
        let inner = block.inner(area);
        block.render(area, buf);
        inner
    }

    /// All that there is to show, from the top, if there is room. What is not known yet has its row
    /// too: lanes of both arms stand beside each other, and nothing jumps.
    fn rows(self, area: Rect) -> Vec<Row> {
        let width = usize::from(area.width.saturating_sub(LABEL + FIGURE));
        let window = self.arm.window(self.at, WINDOW, width);
        let mut rows = vec![self.state()];
        rows.extend(self.counts(usize::from(area.width)));
        rows.push(self.text(Need::Spare, "", Ink::Plain));
        let queues = self.arm.queues.iter().map(Some).chain(iter::repeat(None));
        // No lane is there that has no row.
        let most = usize::from(area.height);
        for (index, (worker, queue)) in self.arm.workers.iter().zip(queues).enumerate().take(most) {
            rows.push(self.lane(worker, index, window, width));
            rows.extend(queue.map(|queue| self.queue(queue, index, window, width)));
        }
        rows.push(self.text(Need::Spare, "", Ink::Plain));
        rows.push(self.marks((GOOD, Ink::Good), window, width, |outcome| outcome == Outcome::Ok));
        rows.push(
            self.marks((FAILED, Ink::Failed), window, width, |outcome| outcome != Outcome::Ok),
        );
        rows.push(self.axis(window, width));
        rows.push(self.text(Need::Spare, &self.longest().unwrap_or_default(), Ink::Plain));
        rows.push(self.text(Need::Spare, &self.rate().unwrap_or_default(), Ink::Plain));
        rows
    }

    fn state(self) -> Row {
        let (text, ink) = match &self.arm.stage {
            Stage::Waiting => ("waits for its turn".to_owned(), Ink::Soft),
            Stage::Running(phase) => (self.running(*phase), Ink::Plain),
            Stage::Over(Err(_)) => ("did not run".to_owned(), Ink::Failed),
            Stage::Over(Ok(summary)) => {
                let (mark, ink) = look::verdict(summary.verdict);
                let cut = if summary.interrupted.is_some() { " (cut short)" } else { "" };
                (format!("{mark} {}{cut}", summary.verdict.name().to_uppercase()), ink)
            }
        };
        self.text(Need::Wanted, &text, ink)
    }

    fn running(self, phase: Phase) -> String {
        let what = match phase {
            Phase::Setup => "starts",
            Phase::Idle => "fetches alone",
            Phase::Load => "downloads start",
            Phase::Measure => "fetches beside downloads",
            Phase::Drain => "the last fetches",
            Phase::Teardown => "stops, and counts",
        };
        let ends = self.show.phase_length(phase).zip(self.arm.phase_began());
        let left = ends.map(|(length, began)| (began + length).since(self.at).as_secs());
        format!("{what}{}", left.map_or_else(String::new, |left| format!(", {left} s left")))
    }

    /// The fetches that the arm is about now: large, and in a line; and those of the idle phase, once
    /// there is load.
    fn counts(self, width: usize) -> [Row; 3] {
        let (arm, half) = (self.arm, width / 2);
        let (counts, idle) = match arm.stage {
            Stage::Waiting => (None, None),
            Stage::Running(Phase::Setup | Phase::Idle) => (Some(arm.idle()), None),
            Stage::Running(_) | Stage::Over(_) => (Some(arm.load()), arm.median(Phase::Idle)),
        };
        let idle = idle.map_or_else(String::new, |median| {
            let Counts { good, .. } = arm.idle();
            format!("idle: {good} of {}, half in {median}", arm.idle().attempts())
        });
        let beside = |left: &str, right: String| {
            let left = format!(" {left:<0$}", half.saturating_sub(1));
            Line::from(vec![self.span(left, Ink::Good), self.span(right, Ink::Failed)])
        };
        let (mut large, mut small) = (Text::default(), Text::default());
        if let Some(Counts { good, failed }) = counts {
            let [g, f] = [good, failed].map(|n| look::big(n, half.saturating_sub(2)));
            large = g.iter().zip(f).map(|(good, failed)| beside(good, failed)).collect();
            small =
                beside(&format!("{GOOD} {good} good"), format!("{FAILED} {failed} failed")).into();
        }
        [
            Row { height: 3, need: Need::Spare, body: Body::Text(large) },
            Row { height: 1, need: Need::Wanted, body: Body::Text(small) },
            self.text(Need::Spare, &idle, Ink::Soft),
        ]
    }

    fn lane(self, worker: &Worker, index: usize, window: Window, width: usize) -> Row {
        let mut before = Cell::Blank;
        let cells = worker.cells(window, width, self.at).into_iter().map(|cell| {
            let (glyph, ink) = look::cell(cell);
            let begins = std::mem::replace(&mut before, cell) != cell;
            match cell {
                // The number of a download stands where its step begins.
                Cell::Held(holder @ (Holder::Download(slot) | Holder::Upload(slot))) if begins => {
                    self.span((slot % 10).to_string(), Ink::Label(holder))
                }
                _ => self.span(glyph.to_string(), ink),
            }
        });
        let cells = cells.collect();
        // Only while it runs: later there is nobody to be silent.
        let silence = worker.silence(self.at).filter(|_| window.extent == Extent::Lately);
        let figure = silence.map_or_else(String::new, |time| format!("{:.1}s", time.as_secs_f64()));
        let (label, figure) = (Span::raw(format!("w{index}")), self.span(figure, Ink::Silent));
        Row { height: 1, need: Need::Grows, body: Body::Lane { label, cells, figure } }
    }

    fn queue(self, queue: &Queue, index: usize, window: Window, width: usize) -> Row {
        let mut values = vec![0_u32; width];
        for &(at, length) in &queue.samples {
            if let Some(value) = window.index(at, width).and_then(|at| values.get_mut(at)) {
                *value = length.max(*value);
            }
        }
        let figure = match window.extent {
            // Where nobody could look there is no number.
            _ if queue.samples.is_empty() => String::new(),
            Extent::Lately => queue.at(self.at).to_string(),
            Extent::Load => values.iter().max().unwrap_or(&0).to_string(),
        };
        let (label, figure) = (Span::raw(format!("q{index}")), self.span(figure, Ink::Queue));
        Row { height: 1, need: Need::Grows, body: Body::Bars { label, values, figure } }
    }

    /// Where in the window fetches ended, and how many.
    fn marks(
        self,
        (glyph, ink): (char, Ink),
        window: Window,
        width: usize,
        wanted: impl Fn(Outcome) -> bool,
    ) -> Row {
        let those = self.arm.fetches.iter().filter(|fetch| wanted(fetch.outcome));
        let (mut cells, mut count) = (vec![' '; width], 0_u64);
        for index in those.filter_map(|fetch| window.index(fetch.end, width)) {
            cells.get_mut(index).into_iter().for_each(|cell| *cell = glyph);
            count += 1;
        }
        let waits = self.arm.stage == Stage::Waiting;
        let figure = if waits { String::new() } else { count.to_string() };
        let cells = self.span(cells.into_iter().collect::<String>(), ink).into();
        let (label, figure) = (self.span(glyph.to_string(), ink), self.span(figure, ink));
        Row { height: 1, need: Need::Wanted, body: Body::Lane { label, cells, figure } }
    }

    fn axis(self, window: Window, width: usize) -> Row {
        let (left, right) = match window.extent {
            Extent::Lately => {
                let length = window.end.since(window.start).as_secs_f64();
                (format!("{length:.0} s ago"), "under 1 s ago")
            }
            Extent::Load => ("load starts".to_owned(), "ends"),
        };
        let between = width.saturating_sub(left.len());
        let right = if right.len() < between { right } else { "" };
        let cells = self.span(format!("{left}{right:>between$}"), Ink::Soft).into();
        let none = Span::default();
        let body = Body::Lane { label: none.clone(), cells, figure: none };
        Row { height: 1, need: Need::Spare, body }
    }

    fn longest(self) -> Option<String> {
        let (hold, holder) = self.arm.longest()?;
        let whom = words::holder(holder);
        Some(format!("longest {}, {whom}, {}", hold.length_us(), hold.bytes))
    }

    fn rate(self) -> Option<String> {
        let whole = self.arm.summary().map(|summary| summary.slow.bytes_per_sec);
        let rate = whole.filter(|rate| rate.0 > 0).or_else(|| self.arm.rate())?;
        Some(format!("downloads {rate}"))
    }

    /// A row of text, a cell away from the frame.
    fn text(self, need: Need, text: &str, ink: Ink) -> Row {
        let line = Line::from(self.span(format!(" {text}"), ink));
        Row { height: 1, need, body: Body::Text(line.into()) }
    }

    fn row(self, row: Row, area: Rect, buf: &mut Buffer) {
        let left = Rect { width: LABEL.min(area.width), ..area };
        let width = area.width.saturating_sub(LABEL + FIGURE);
        let middle = Rect { x: area.x.saturating_add(LABEL), width, ..area };
        let (x, width) = (middle.right(), area.right().saturating_sub(middle.right()));
        let right = Rect { x, width, ..area };
        let mut ends = |label: Span<'_>, figure: Span<'_>| {
            label.render(left, buf);
            let figure = Span { content: format!("{:>5}", figure.content).into(), ..figure };
            figure.render(right, buf);
        };
        match row.body {
            Body::Text(text) => text.render(area, buf),
            Body::Lane { label, cells, figure } => {
                ends(label, figure);
                middle.rows().for_each(|row| (&cells).render(row, buf));
            }
            Body::Bars { label, values, figure } => {
                ends(label, figure);
                // Rounded up: one connection that waits is to be seen.
                let eighths = u64::from(middle.height) * 8;
                let full = u64::from(self.peak.max(SCALE));
                let values = values.iter();
                let values = values.map(|&value| (u64::from(value) * eighths).div_ceil(full));
                let bars = Sparkline::default().style(self.look(Ink::Queue)).data(values);
                bars.max(eighths).render(middle, buf);
            }
        }
    }

    fn span(self, text: impl Into<String>, ink: Ink) -> Span<'static> {
        Span::styled(text.into(), self.look(ink))
    }

    fn look(self, ink: Ink) -> Look {
        look::style(self.style, ink)
    }
}

/// The rows that there is room for; what is left of it goes to those that grow.
fn fitting(mut rows: Vec<Row>, height: u16) -> Vec<Row> {
    let used = |rows: &[Row]| rows.iter().map(|row| row.height).sum::<u16>();
    if used(&rows) > height {
        rows.retain(|row| row.need != Need::Spare);
    }
    rows.truncate(height.into());
    let growing = rows.iter().filter(|row| row.need == Need::Grows).count();
    let growing = u16::try_from(growing).unwrap_or(u16::MAX);
    let more = height.saturating_sub(used(&rows)).checked_div(growing).unwrap_or(0).min(GROWTH);
    for row in rows.iter_mut().filter(|row| row.need == Need::Grows) {
        row.height += more;
    }
    rows
}
